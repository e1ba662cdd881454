// Functions of one predictor, operation for operation as in src/twin/functions.rs and as provi-kernels has them.
//
// Compiled with -fmad=false: a multiply-add is fused only where fma() says so. Divisions and roots are rounded
// correctly. So the card and the twin give the same bits.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEV __device__ __forceinline__

#define LN_2 0.6931471805599453
#define LOG2_E 1.4426950408889634
#define SQRT_2 1.4142135623730951
#define ROUND 6755399441055744.0
// ln 2 in two parts; the upper has 41 bits, so that its product with n is exact.
#define LN_2_HIGH 0.693147180559663
#define LN_2_LOW 2.8235290563031577e-13
#define SQRT_HALF 0x3FE6A09E667F3BCDull

DEV u64 bits(double x) { return (u64)__double_as_longlong(x); }
DEV double number(u64 b) { return __longlong_as_double((i64)b); }
DEV double power_of_two(i64 n) { return number((u64)(n + 1023) << 52); }

// Constants of the exponential, in the card's constant memory: an instruction reads them from there, and they take no registers.
__constant__ double EXP[] = {LOG2_E,
                             -LN_2_HIGH,
                             -LN_2_LOW,
                             2.510038549551032e-8,
                             2.7557268459997064e-6,
                             0.00019841269863053618,
                             0.008333333333330062,
                             0.16666666666666669,
                             2.7620088445409746e-7,
                             2.4801521295954376e-5,
                             0.0013888888917213717,
                             0.04166666666662413,
                             0.5000000000000001};

// e^r − 1 for |r| ≤ ln 2/2: even and odd powers apart, two short chains.
DEV double expm1_reduced(double r) {
    double square = r * r;
    double odd = fma(square, EXP[3], EXP[4]);
    odd = fma(odd, square, EXP[5]);
    odd = fma(odd, square, EXP[6]);
    odd = fma(odd, square, EXP[7]);
    double even = fma(square, EXP[8], EXP[9]);
    even = fma(even, square, EXP[10]);
    even = fma(even, square, EXP[11]);
    even = fma(even, square, EXP[12]);
    return fma(square, fma(odd, r, even), r);
}

// e^(−|t|) for |t| ≤ 708, e^−708 beyond and for a NaN. The limit is set on the bits, off the 64-bit units.
DEV double exp_negative(double t) {
    u32 high = (u32)__double2hiint(t) & 0x7FFFFFFFu;
    u32 low = (u32)__double2loint(t);
    bool far = high >= 0x40862000u;
    high = far ? 0x40862000u : high;
    low = far ? 0u : low;
    double x = __hiloint2double((int)(high | 0x80000000u), (int)low);
    double shifted = fma(x, EXP[0], ROUND);
    double n = shifted - ROUND;
    double r = fma(n, EXP[2], fma(n, EXP[1], x));
    double y = 1.0 + expm1_reduced(r);
    // y is in [√½, √2) and the result normal, so the exponent can be moved as an integer.
    return __hiloint2double(__double2hiint(y) + (__double2loint(shifted) << 20), __double2loint(y));
}

// e^x everywhere.
DEV double exp_one(double x) {
    x = x < -746.0 ? -746.0 : x;
    x = x > 710.0 ? 710.0 : x;
    double shifted = fma(x, EXP[0], ROUND);
    double n = shifted - ROUND;
    double y = 1.0 + expm1_reduced(fma(n, EXP[2], fma(n, EXP[1], x)));
    i64 power = (i64)(bits(shifted) - bits(ROUND));
    i64 half = power >> 1;
    return y * power_of_two(half) * power_of_two(power - half);
}

// e^x − 1 for −1 ≤ x ≤ 41, with e^x = 2ⁿ(1 + m): 2ⁿm + (2ⁿ − 1).
DEV double expm1_one(double x) {
    double shifted = fma(x, EXP[0], ROUND);
    double n = shifted - ROUND;
    double m = expm1_reduced(fma(n, EXP[2], fma(n, EXP[1], x)));
    double power = power_of_two((i64)(bits(shifted) - bits(ROUND)));
    return fma(power, m, power - 1.0);
}

// log(1 + f) for 1 + f between √½ and √2: f − s(f − R(s²)), s = f/(2 + f).
DEV double log1p_near(double f) {
    double s = f / (2.0 + f);
    double z = s * s;
    double p = fma(0.14616449685043406, z, 0.15331721600556042);
    p = fma(p, z, 0.18182889125261723);
    p = fma(p, z, 0.2222221113479508);
    p = fma(p, z, 0.28571428625975487);
    p = fma(p, z, 0.39999999999899505);
    p = fma(p, z, 0.666666666666667);
    return fma(-s, fma(-z, p, f), f);
}

// log(1 + e) for e in [0, 1].
DEV double log1p_one(double e) {
    bool upper = e > 0.41421356237309503;
    double f = upper ? 0.5 * (e - 1.0) : e;
    return (upper ? LN_2 : 0.0) + log1p_near(f);
}

// log x for normal x > 0: x = 2ᵏ(1 + f) with 1 + f in [√½, √2).
DEV double ln_one(double x) {
    i64 k = (i64)(bits(x) - SQRT_HALF) >> 52;
    double reduced = number(bits(x) - ((u64)k << 52));
    double whole = number(bits(ROUND) + (u64)k) - ROUND;
    return fma(whole, LN_2, log1p_near(reduced - 1.0));
}

// 1/x for x in [1, 2]: a parabola within 1/99, then twice r(1 + h + h²), h = 1 − xr.
DEV double reciprocal_one_to_two(double x) {
    double r = fma(x, fma(x, 32.0 / 99.0, -144.0 / 99.0), 210.0 / 99.0);
    for (int k = 0; k < 2; k++) {
        double h = fma(-x, r, 1.0);
        r = fma(r, fma(h, h, h), r);
    }
    return r;
}

struct Three { double value, first, second; };

// log(1 + eˢ) and its derivatives.
DEV Three softplus(double s) {
    double e = exp_negative(s);
    double r = reciprocal_one_to_two(1.0 + e);
    Three out;
    out.value = (s > 0.0 ? s : 0.0) + log1p_one(e);
    double er = e * r;
    out.first = s >= 0.0 ? r : er;
    out.second = er * r;
    return out;
}

// Chebyshev coefficients of (1 + a)·G(a) in (a − 4)/(a + 4).
__constant__ double EXCESS[29] = {
    1.0168805564426282, 0.06385599300140679, -0.11509035595355087, 0.038934029049955285, -0.003347370576381033,
    -0.0017736338770155734, 0.00054076040973986, 3.902404417582679e-05, -4.402617067828808e-05,
    2.7612076544288964e-06, 2.8674097969311685e-06, -4.995282519092665e-07, -1.5806245994487862e-07,
    4.938482308086009e-08, 7.114472972821824e-09, -3.943344498242817e-09, -2.0992695898584107e-10,
    2.7542478232219564e-10, -3.29156814387016e-12, -1.716164405777426e-11, 1.201559505276977e-12,
    9.424312178713976e-13, -1.279271190378952e-13, -4.29654024129139e-14, 1.0402939865135318e-14,
    1.2728811508716543e-15, -7.396596377340524e-16, 2.530671679501365e-17, 4.8478954579590156e-17};

// e^(−a²/2)/√2π for a ≥ 0; the square is split.
DEV double normal_density(double a) {
    a = a > 40.0 ? 40.0 : a;
    double head = ((a * 65536.0 + ROUND) - ROUND) * (1.0 / 65536.0);
    double rest = -0.5 * (a - head) * (a + head);
    double series = fma(rest, 1.0 / 24.0, 1.0 / 6.0);
    series = fma(rest, series, 0.5);
    series = fma(rest, series, 1.0);
    return 0.3989422804014327 * exp_one(-0.5 * head * head) * fma(rest, series, 1.0);
}

// −log Φ(s) and its derivatives.
__device__ __noinline__ Three neg_log_normal_cdf(double s) {
    double a = fabs(s);
    bool left = s < 0.0;
    double t = (a - 4.0) / (a + 4.0);
    double b1 = EXCESS[28], b2 = 0.0;
    for (int k = 27; k >= 1; k--) {
        double next = fma(2.0 * t, b1, EXCESS[k] - b2);
        b2 = b1;
        b1 = next;
    }
    double excess = fma(t, b1, EXCESS[0] - b2) / (1.0 + a);
    double rho_left = a + excess;
    double density = normal_density(a);
    double q = density / rho_left;
    double rho = left ? rho_left : density / (1.0 - q);
    Three out;
    out.second = left ? rho * excess : rho * (rho + a);
    u64 k = (bits(rho_left) - SQRT_HALF) >> 52;
    double reduced = number(bits(rho_left) - (k << 52));
    double whole = number(bits(ROUND) + k) - ROUND;
    bool low = q > 0.29;
    double f = left ? reduced - 1.0 : low ? 1.0 - 2.0 * q : -q;
    whole = left ? whole : low ? -1.0 : 0.0;
    double log = fma(whole, LN_2, log1p_near(f));
    out.value = left ? fma(0.5 * a, a, 0.9189385332046728) + log : -log;
    out.first = -rho;
    return out;
}

// −log(1 − e^{−r}), r = eˢ, and its derivatives.
__device__ __noinline__ Three cloglog_success(double s) {
    double r = exp_one(s);
    Three out = {0.0, 0.0, 0.0};
    if (r > 745.0) return out;
    if (s < -36.0) {
        out.value = 0.5 * r - s;
    } else if (r > LN_2) {
        double q = exp_one(-r);
        bool low = q > 0.29;
        out.value = -fma(low ? -1.0 : 0.0, LN_2, log1p_near(low ? 1.0 - 2.0 * q : -q));
    } else {
        out.value = -ln_one(-expm1_one(-r));
    }
    double slope = !(r > 0.0) ? 1.0 : r > 40.0 ? r * exp_one(-r) : r / expm1_one(r);
    double excess;
    if (r < 0.5) {
        double w = r * r;
        double sum = fma(1.0 / 74724249600.0, w, -691.0 / 1307674368000.0);
        sum = fma(sum, w, 1.0 / 47900160.0);
        sum = fma(sum, w, -1.0 / 1209600.0);
        sum = fma(sum, w, 1.0 / 30240.0);
        sum = fma(sum, w, -1.0 / 720.0);
        sum = fma(sum, w, 1.0 / 12.0);
        excess = fma(w, sum, r * 0.5);
    } else {
        excess = slope + r - 1.0;
    }
    out.first = -slope;
    out.second = slope * excess;
    return out;
}

// Families: the numbers of src/family.rs.
enum { LOGISTIC, LOGISTIC_WEIGHTED, BINOMIAL, PROBIT, POISSON, GAMMA, CLOGLOG, GAUSSIAN };

// φ, φ′ and φ″ of one row without its weight; `code` is the response as the family wants it.
template <int F> DEV Three potential(double s, double code, double parameter) {
    Three at;
    if (F == LOGISTIC || F == LOGISTIC_WEIGHTED) {
        at = softplus(code * s);
        at.first = code * at.first;
    } else if (F == BINOMIAL) {
        at = softplus(s);
        at.value = at.value - code * s;
        at.first = at.first - code;
    } else if (F == PROBIT) {
        at = neg_log_normal_cdf(code * s);
        at.first = code * at.first;
    } else if (F == POISSON) {
        double rate = exp_one(s);
        at.value = rate - code * s;
        at.first = rate - code;
        at.second = rate;
    } else if (F == GAMMA) {
        double rate = code * exp_one(-s);
        at.value = fma(parameter, s, rate);
        at.first = parameter - rate;
        at.second = rate;
    } else if (F == CLOGLOG) {
        at = cloglog_success(s);
        double rate = code < 1.0 ? (1.0 - code) * exp_one(s) : 0.0;
        at.value = code > 0.0 ? code * at.value + rate : rate;
        at.first = code > 0.0 ? code * at.first + rate : rate;
        at.second = code > 0.0 ? code * at.second + rate : rate;
    } else {
        double slope = parameter * (s - code);
        at.value = 0.5 * slope * (s - code);
        at.first = slope;
        at.second = parameter;
    }
    return at;
}

DEV Three potential_of(int family, double s, double code, double parameter) {
    switch (family) {
        case LOGISTIC:
        case LOGISTIC_WEIGHTED: return potential<LOGISTIC_WEIGHTED>(s, code, parameter);
        case BINOMIAL: return potential<BINOMIAL>(s, code, parameter);
        case PROBIT: return potential<PROBIT>(s, code, parameter);
        case POISSON: return potential<POISSON>(s, code, parameter);
        case GAMMA: return potential<GAMMA>(s, code, parameter);
        case CLOGLOG: return potential<CLOGLOG>(s, code, parameter);
        default: return potential<GAUSSIAN>(s, code, parameter);
    }
}

// What one predictor adds to a sum and a product of its draw; returns w φ′ where slopes are wanted.
template <int F, bool SLOPES>
DEV double add(double s, double code, double weight, double parameter, double &sum, double &product) {
    if (F == LOGISTIC) {
        // φ = max(t, 0) + log(1 + e^(−|t|)), t = ±s. The logarithm of many rows is taken once, of their product.
        double e = exp_negative(s);
        double u = 1.0 + e;
        product = product * u;
        // Signs are compared on the bits, off the 64-bit units. A NaN stays a NaN.
        u32 high = (u32)__double2hiint(s) ^ ((u32)__double2hiint(code) & 0x80000000u);
        bool below = high >= 0x80000000u && high <= 0xFFF00000u;
        sum = sum + __hiloint2double(below ? 0 : (int)high, below ? 0 : __double2loint(s));
        if (!SLOPES) return 0.0;
        double r = code * reciprocal_one_to_two(u);
        return below ? e * r : r;
    }
    Three at = potential<F>(s, code, parameter);
    sum = fma(weight, at.value, sum);
    return weight * at.first;
}

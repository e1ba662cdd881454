// The kernels of provi-gpu. Each has a twin in src/twin that gives the same numbers on the processor.
//
// No atomics: every sum has one order, which depends on the shape of the problem alone. So a call gives the same
// bits from run to run, and on every card that runs the same module.

#include "functions.cuh"

// The twins in src/shape.rs have the same numbers. Two blocks of eight warps share a multiprocessor: while one takes
// likelihoods, the other multiplies.
#define WARPS_M 4
#define WARPS_N 2
#define STAGES 3
#define BLOCKS 2

// A block holds a tile of 32·WARPS_M draws × 32·WARPS_N rows in registers, 32 × 32 for each warp.
#define THREADS (32 * WARPS_M * WARPS_N)
#define TILE_M (32 * WARPS_M)
#define TILE_N (32 * WARPS_N)
// Columns of a stage, and the distance of its rows: 4 mod 16, so that no two lanes of a half warp share a bank.
#define DEPTH 16
#define STRIDE 20
// Tiles after which the product of a thread's factors, at most 2⁸ for each, is turned into a logarithm.
#define FOLD 64

DEV void copy16(double *to, const double *from) {
    u32 address = (u32)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}
// Zeros where `real` is false; nothing is read then.
DEV void copy16_or_zero(double *to, const double *from, bool real) {
    u32 address = (u32)__cvta_generic_to_shared(to);
    int size = real ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(size));
}
DEV void close_group() { asm volatile("cp.async.commit_group;"); }
template <int N> DEV void wait_for_groups() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }

// Tensor cores round like a chain of fused multiply-adds along the columns: seen on the card, checked by bench/gpu.
// Shapes of sixteen rows, which exist from 9.0 on, run at twice the rate of those of eight there.
#if __CUDA_ARCH__ >= 900
DEV void multiply4(double (&c)[2], double (&d)[2], double a0, double a1, double b) {
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(d[0]), "+d"(d[1])
        : "d"(a0), "d"(a1), "d"(b));
}
DEV void multiply8(double (&c)[2], double (&d)[2], double a0, double a1, double a2, double a3, double b0, double b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(d[0]), "+d"(d[1])
        : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
}
#else
DEV void multiply(double (&c)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}
DEV void multiply4(double (&c)[2], double (&d)[2], double a0, double a1, double b) {
    multiply(c, a0, b);
    multiply(d, a1, b);
}
DEV void multiply8(double (&c)[2], double (&d)[2], double a0, double a1, double a2, double a3, double b0, double b1) {
    multiply4(c, d, a0, a1, b0);
    multiply4(c, d, a2, a3, b1);
}
#endif

// c += a·bᵀ over four columns: a has the draws, b the rows.
DEV void step(double (&c)[4][4][2], const double (&a)[4], const double (&b)[4]) {
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
        for (int i = 0; i < 4; i += 2) multiply4(c[i][j], c[i + 1][j], a[i], a[i + 1], b[j]);
}

// A stage: 16 columns of the tile's draws and rows.
struct Stage {
    double rows[TILE_N * STRIDE];
    double draws[TILE_M * STRIDE];
};
struct Numbers {
    double offsets[TILE_N], codes[TILE_N], weights[TILE_N];
};
struct Shared {
    Stage stages[STAGES];
    Numbers numbers[STAGES];
};
// The sums of the warps, in the place of the stages once these are done with.
DEV double *sums_of(Shared &shared, int warp) { return shared.stages[0].rows + warp * TILE_M; }

extern __shared__ double4 memory[];

// The entry of a tile that a thread copies first: eight threads take the sixteen columns of a row.
DEV size_t own_entry(int width) { return (size_t)(threadIdx.x >> 3) * width + 2 * (threadIdx.x & 7); }

// Sixteen columns of both tiles, as far as they exist; `columns` is a multiple of 4. The pointers are at the thread's own entry.
DEV void load(Stage &to, const double *rows, const double *draws, int width, int columns) {
    int place = (threadIdx.x >> 3) * STRIDE + 2 * (threadIdx.x & 7);
    if (2 * (int)(threadIdx.x & 7) >= columns) return;
    const int apart = THREADS / 8;
#pragma unroll
    for (int n = 0; n < TILE_N / apart; n++) copy16(to.rows + place + n * apart * STRIDE, rows + n * apart * width);
#pragma unroll
    for (int n = 0; n < TILE_M / apart; n++) copy16(to.draws + place + n * apart * STRIDE, draws + n * apart * width);
}

DEV void multiply_stage(double (&c)[4][4][2], const Stage &at, int columns) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const double *a0 = at.draws + ((warp % WARPS_M) * 32 + lane / 4) * STRIDE + lane % 4;
    const double *b0 = at.rows + ((warp / WARPS_M) * 32 + lane / 4) * STRIDE + lane % 4;
#pragma unroll
    for (int k = 0; k < DEPTH; k += 8) {
        if (k + 4 < columns) {
            double a[4][2];
#pragma unroll
            for (int i = 0; i < 4; i++) a[i][0] = a0[8 * i * STRIDE + k], a[i][1] = a0[8 * i * STRIDE + k + 4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                double b[2] = {b0[8 * j * STRIDE + k], b0[8 * j * STRIDE + k + 4]};
#pragma unroll
                for (int i = 0; i < 4; i += 2)
                    multiply8(c[i][j], c[i + 1][j], a[i][0], a[i + 1][0], a[i][1], a[i + 1][1], b[0], b[1]);
            }
        } else if (k < columns) {
            double a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) a[i] = a0[8 * i * STRIDE + k], b[i] = b0[8 * i * STRIDE + k];
            step(c, a, b);
        }
    }
}

// For a chunk of rows (blockIdx.y) and a tile of draws (blockIdx.x), Σ_n w_n φ(x_nᵀz_k + o_n) of every draw, and
// the slopes w_n φ′ if wanted. Predictors stay in registers.
//
// `rows` has whole tiles of rows, `draws` whole tiles of draws, both `width` wide and zero beyond the real entries.
// `numbers` has the offsets, then the codes, then the weights, each `padded` long. A padded row adds exactly zero.
template <int F, bool SLOPES>
DEV void density(const double *rows, const double *draws, const double *numbers, i64 padded, int width,
                 double parameter, i64 first_tile, i64 last_tile, i64 tiles_per_chunk, int draw_count,
                 double *partial, double *slopes) {
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int group = lane / 4, four = lane % 4, warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;

    i64 from = first_tile + (i64)blockIdx.y * tiles_per_chunk;
    int tiles = (int)min(tiles_per_chunk, last_tile - from);
    int chunks = (width + DEPTH - 1) / DEPTH;
    int total = tiles * chunks;
    draws += (size_t)blockIdx.x * TILE_M * width + own_entry(width);
    rows += (size_t)from * TILE_N * width + own_entry(width);
    numbers += from * TILE_N;

    int load_tile = 0, load_column = 0;
    auto next = [&](int index) {
        if (index < total) {
            load(shared.stages[index % STAGES], rows + load_column, draws + load_column, width, width - load_column);
            if (load_column == 0) {
                Numbers &to = shared.numbers[load_tile % STAGES];
                for (int piece = threadIdx.x; piece < 3 * TILE_N / 2; piece += THREADS) {
                    int which = piece / (TILE_N / 2), place = 2 * (piece % (TILE_N / 2));
                    copy16(to.offsets + which * TILE_N + place, numbers + which * padded + place);
                }
            }
            load_column += DEPTH;
            if (load_column >= width) {
                load_column = 0;
                load_tile++;
                rows += TILE_N * width;
                numbers += TILE_N;
            }
        }
        close_group();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) next(s);

    double c[4][4][2], sum[4], product[4];
#pragma unroll
    for (int i = 0; i < 4; i++) sum[i] = 0.0, product[i] = 1.0;

    int index = 0;
    for (int tile = 0; tile < tiles; tile++) {
        const Numbers &own = shared.numbers[tile % STAGES];
        for (int chunk = 0; chunk < chunks; chunk++, index++) {
            wait_for_groups<STAGES - 2>();
            __syncthreads();
            next(index + STAGES - 1);
            if (chunk == 0) {
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    double2 o = *reinterpret_cast<const double2 *>(own.offsets + warp_n * 32 + 8 * j + 2 * four);
#pragma unroll
                    for (int i = 0; i < 4; i++) c[i][j][0] = o.x, c[i][j][1] = o.y;
                }
            }
            multiply_stage(c, shared.stages[index % STAGES], width - chunk * DEPTH);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int place = warp_n * 32 + 8 * j + 2 * four;
            double2 code = *reinterpret_cast<const double2 *>(own.codes + place);
            double2 weight = *reinterpret_cast<const double2 *>(own.weights + place);
#pragma unroll
            for (int h = 0; h < 2; h++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    double slope = add<F, SLOPES>(c[i][j][h], h ? code.y : code.x, h ? weight.y : weight.x,
                                                  parameter, sum[i], product[i]);
                    if (SLOPES) {
                        i64 row = (from - first_tile + tile) * TILE_N + place + h;
                        int draw = blockIdx.x * TILE_M + warp_m * 32 + 8 * i + group;
                        slopes[(size_t)row * draw_count + draw] = slope;
                    }
                }
            }
        }
        if (F == LOGISTIC && (tile % FOLD == FOLD - 1 || tile == tiles - 1)) {
#pragma unroll
            for (int i = 0; i < 4; i++) sum[i] = sum[i] + ln_one(product[i]), product[i] = 1.0;
        }
    }

    wait_for_groups<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[i] = sum[i] + __shfl_xor_sync(0xFFFFFFFFu, sum[i], 1);
        sum[i] = sum[i] + __shfl_xor_sync(0xFFFFFFFFu, sum[i], 2);
        if (four == 0) sums_of(shared, warp_n)[warp_m * 32 + 8 * i + group] = sum[i];
    }
    __syncthreads();
    for (int m = threadIdx.x; m < TILE_M; m += THREADS) {
        double all = sums_of(shared, 0)[m];
        for (int n = 1; n < WARPS_N; n++) all = all + sums_of(shared, n)[m];
        partial[(size_t)blockIdx.y * draw_count + blockIdx.x * TILE_M + m] = all;
    }
}

#define DENSITY(name, family)                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name##_values(                                     \
        const double *rows, const double *draws, const double *numbers, i64 padded, int width, double parameter,     \
        i64 first_tile, i64 last_tile, i64 tiles_per_chunk, int draw_count, double *partial, double *slopes) {       \
        density<family, false>(rows, draws, numbers, padded, width, parameter, first_tile, last_tile,                \
                               tiles_per_chunk, draw_count, partial, slopes);                                        \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) name##_slopes(                                     \
        const double *rows, const double *draws, const double *numbers, i64 padded, int width, double parameter,     \
        i64 first_tile, i64 last_tile, i64 tiles_per_chunk, int draw_count, double *partial, double *slopes) {       \
        density<family, true>(rows, draws, numbers, padded, width, parameter, first_tile, last_tile,                 \
                              tiles_per_chunk, draw_count, partial, slopes);                                         \
    }

// One module a family, since the driver compiles a whole module; the other kernels are a module of their own.
#ifdef FAMILY
DENSITY(density, FAMILY)
#else

// out_i = Σ_b partial[b][i], blocks in order; `onto` what out_i was, if so asked.
extern "C" __global__ void __launch_bounds__(256)
reduce(const double *partial, i64 blocks, i64 length, int onto, double *out) {
    i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
    if (i >= length) return;
    double sum = onto ? out[i] + partial[i] : partial[i];
    for (i64 b = 1; b < blocks; b++) sum = sum + partial[b * length + i];
    out[i] = sum;
}

// μ_n = x_nᵀm + o_n and σ_n² = ‖Cᵀx_n‖² of a tile of rows: `columns` has the columns of C as rows, then m, then
// zeros up to whole tiles.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
spreads(const double *rows, const double *columns, const double *offsets, int width, int dim, int column_tiles,
        double *means, double *variances) {
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int group = lane / 4, four = lane % 4, warp_m = warp % WARPS_M, warp_n = warp / WARPS_M;
    i64 row = (i64)blockIdx.x * TILE_N;
    int chunks = (width + DEPTH - 1) / DEPTH, total = column_tiles * chunks;
    rows += (size_t)row * width + own_entry(width);
    columns += own_entry(width);
    int load_column = 0;
    auto next = [&](int index) {
        if (index < total) {
            load(shared.stages[index % STAGES], rows + load_column, columns + load_column, width, width - load_column);
            load_column += DEPTH;
            if (load_column >= width) {
                load_column = 0;
                columns += TILE_M * width;
            }
        }
        close_group();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) next(s);
    double c[4][4][2], squares[4][2];
#pragma unroll
    for (int j = 0; j < 4; j++) squares[j][0] = 0.0, squares[j][1] = 0.0;
    int index = 0;
    for (int tile = 0; tile < column_tiles; tile++) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) c[i][j][0] = 0.0, c[i][j][1] = 0.0;
        for (int chunk = 0; chunk < chunks; chunk++, index++) {
            wait_for_groups<STAGES - 2>();
            __syncthreads();
            next(index + STAGES - 1);
            multiply_stage(c, shared.stages[index % STAGES], width - chunk * DEPTH);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int column = tile * TILE_M + warp_m * 32 + 8 * i + group;
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    i64 own = row + warp_n * 32 + 8 * j + 2 * four + h;
                    if (column == dim) means[own] = c[i][j][h] + offsets[own];
                    else squares[j][h] = fma(c[i][j][h], c[i][j][h], squares[j][h]);
                }
        }
    }
    wait_for_groups<0>();
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            double sum = squares[j][h];
            sum = sum + __shfl_xor_sync(0xFFFFFFFFu, sum, 4);
            sum = sum + __shfl_xor_sync(0xFFFFFFFFu, sum, 8);
            sum = sum + __shfl_xor_sync(0xFFFFFFFFu, sum, 16);
            if (group == 0) sums_of(shared, warp_m)[warp_n * 32 + 8 * j + 2 * four + h] = sum;
        }
    __syncthreads();
    for (int n = threadIdx.x; n < TILE_N; n += THREADS) {
        double all = sums_of(shared, 0)[n];
        for (int m = 1; m < WARPS_M; m++) all = all + sums_of(shared, m)[n];
        variances[row + n] = all;
    }
}

// E φ, E φ′ and E φ″ at s ~ N(μ_n, σ_n²), one thread a row; the last two with the weight, the first summed over the
// 256 rows of a block: lanes by halves, then the warps in order.
//
// Rule r is for σ ≤ limits[r], the last for all others; its nodes are starts[r] … starts[r + 1]. Rates and squares
// have closed forms.
extern "C" __global__ void __launch_bounds__(256)
expect(int family, double parameter, const double *means, const double *variances, const double *codes,
       const double *weights, i64 rows, int rules, const double *limits, const i64 *starts, const double *nodes,
       const double *rule_weights, double *first, double *second, double *partial) {
    __shared__ double sums[8];
    i64 n = (i64)blockIdx.x * 256 + threadIdx.x;
    double own = 0.0;
    if (n < rows) {
        double mean = means[n], variance = variances[n], code = codes[n], weight = weights[n];
        double sigma = sqrt(variance);
        Three at;
        if (family == GAUSSIAN) {
            double residual = mean - code;
            at.value = 0.5 * parameter * fma(residual, residual, variance);
            at.first = parameter * residual;
            at.second = parameter;
        } else if (family == POISSON) {
            double rate = exp_one(fma(0.5, variance, mean));
            at.value = rate - code * mean;
            at.first = rate - code;
            at.second = rate;
        } else if (family == GAMMA) {
            double rate = code * exp_one(fma(0.5, variance, -mean));
            at.value = fma(parameter, mean, rate);
            at.first = parameter - rate;
            at.second = rate;
        } else {
            int rule = 0;
            while (rule < rules - 1 && sigma > limits[rule]) rule++;
            at.value = at.first = at.second = 0.0;
            for (i64 k = starts[rule]; k < starts[rule + 1]; k++) {
                Three there = potential_of(family, fma(sigma, nodes[k], mean), code, parameter);
                double w = rule_weights[k];
                at.value = fma(w, there.value, at.value);
                at.first = fma(w, there.first, at.first);
                at.second = fma(w, there.second, at.second);
            }
        }
        own = weight * at.value;
        first[n] = weight * at.first;
        second[n] = weight * at.second;
    }
    for (int apart = 16; apart >= 1; apart /= 2) own = own + __shfl_xor_sync(0xFFFFFFFFu, own, apart);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = sums[0];
        for (int w = 1; w < 8; w++) all = all + sums[w];
        partial[blockIdx.x] = all;
    }
}

// partial[chunk][j] = Σ_n v_n x_nj over the rows of a chunk (blockIdx.x): thread (j, part) takes every eighth row, and the
// eight parts are added in order.
extern "C" __global__ void __launch_bounds__(256)
columns(const double *rows, const double *values, int width, i64 row_count, i64 rows_per_chunk, double *partial) {
    __shared__ double sums[8][32];
    int lane = threadIdx.x & 31, part = threadIdx.x >> 5;
    i64 from = (i64)blockIdx.x * rows_per_chunk, to = min(row_count, from + rows_per_chunk);
    for (int first = 0; first < width; first += 32) {
        int j = first + lane;
        double sum = 0.0;
        if (j < width)
            for (i64 n = from + part; n < to; n += 8) sum = fma(values[n], rows[(size_t)n * width + j], sum);
        sums[part][lane] = sum;
        __syncthreads();
        if (part == 0 && j < width) {
            double all = sums[0][lane];
            for (int p = 1; p < 8; p++) all = all + sums[p][lane];
            partial[(size_t)blockIdx.x * width + j] = all;
        }
        __syncthreads();
    }
}

#define SQUARE 64
#define ACROSS 68
struct Slice {
    double a[DEPTH * ACROSS], b[DEPTH * ACROSS];
};

// partial[chunk][p][q] = Σ_n a_np v_n b_nq over the rows of a chunk (blockIdx.y), 64 × 64 entries a block, 32 × 32 a
// warp. Without `values`, v = 1. If `symmetric`, blocks are those on and under the diagonal.
extern "C" __global__ void __launch_bounds__(128, 3)
contract(const double *a, int width_a, const double *b, int width_b, const double *values, i64 row_count,
         i64 rows_per_chunk, int symmetric, double *partial) {
    Slice *slices = reinterpret_cast<Slice *>(memory);
    int tile_p, tile_q;
    if (symmetric) {
        tile_p = 0;
        int left = blockIdx.x;
        while (left > tile_p) left -= ++tile_p;
        tile_q = left;
    } else {
        int across = (width_b + SQUARE - 1) / SQUARE;
        tile_p = blockIdx.x / across;
        tile_q = blockIdx.x % across;
    }
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    int group = lane / 4, four = lane % 4, warp_p = warp % 2, warp_q = warp / 2;
    i64 from = (i64)blockIdx.y * rows_per_chunk, to = min(row_count, from + rows_per_chunk);
    int total = (int)((to - from + DEPTH - 1) / DEPTH);
    auto next = [&](int index) {
        if (index < total) {
            Slice &slice = slices[index % STAGES];
#pragma unroll
            for (int n = 0; n < 8; n++) {
                int piece = n * 128 + threadIdx.x;
                bool second = piece >= 512;
                int row = (piece & 511) >> 5, place = 2 * (piece & 31);
                int width = second ? width_b : width_a, column = (second ? tile_q : tile_p) * SQUARE + place;
                i64 source = from + (i64)index * DEPTH + row;
                bool real = column < width && source < to;
                const double *base = second ? b : a;
                copy16_or_zero((second ? slice.b : slice.a) + row * ACROSS + place,
                               base + (real ? (size_t)source * width + column : 0), real);
            }
        }
        close_group();
    };
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) next(s);
    double c[4][4][2];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) c[i][j][0] = 0.0, c[i][j][1] = 0.0;
    for (int index = 0; index < total; index++) {
        double v[4] = {1.0, 1.0, 1.0, 1.0};
        if (values)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                i64 source = from + (i64)index * DEPTH + 4 * k + four;
                v[k] = source < to ? values[source] : 0.0;
            }
        wait_for_groups<STAGES - 2>();
        __syncthreads();
        next(index + STAGES - 1);
        const Slice &slice = slices[index % STAGES];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            double x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; i++) x[i] = slice.a[(4 * k + four) * ACROSS + warp_p * 32 + 8 * i + group];
#pragma unroll
            for (int j = 0; j < 4; j++) y[j] = slice.b[(4 * k + four) * ACROSS + warp_q * 32 + 8 * j + group];
            if (values)
#pragma unroll
                for (int i = 0; i < 4; i++) x[i] = x[i] * v[k];
            step(c, x, y);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int p = tile_p * SQUARE + warp_p * 32 + 8 * i + group;
                int q = tile_q * SQUARE + warp_q * 32 + 8 * j + 2 * four + h;
                if (p < width_a && q < width_b)
                    partial[((size_t)blockIdx.y * width_a + p) * width_b + q] = c[i][j][h];
            }
}

// out[n][j] = Σ_{i ≥ j} x_ni C_ij, C packed by rows: one chain of fused multiply-adds along the columns. Zeros up to `width`.
extern "C" __global__ void __launch_bounds__(256)
whiten(const double *rows, const double *factor, i64 row_count, int dim, int width, double *out) {
    i64 index = (i64)blockIdx.x * 256 + threadIdx.x;
    i64 n = index / width;
    int j = (int)(index % width);
    if (n >= row_count) return;
    double sum = 0.0;
    const double *row = rows + (size_t)n * width;
    for (int i = j; i < dim; i++) sum = fma(row[i], factor[(size_t)i * (i + 1) / 2 + j], sum);
    out[index] = sum;
}

// vec(aaᵀ) of every row a, with √2 off the diagonal: its product i, j is number i(i+1)/2 + j. Zeros up to `wide`.
extern "C" __global__ void __launch_bounds__(256)
squares(const double *rows, i64 row_count, int dim, int width, int wide, double *out) {
    i64 index = (i64)blockIdx.x * 256 + threadIdx.x;
    i64 n = index / wide;
    int k = (int)(index % wide);
    if (n >= row_count) return;
    int i = (int)((sqrt(8.0 * k + 1.0) - 1.0) * 0.5);
    if ((i + 1) * (i + 2) / 2 <= k) i++;
    if (i * (i + 1) / 2 > k) i--;
    int j = k - i * (i + 1) / 2;
    const double *row = rows + (size_t)n * width;
    double product = 0.0;
    if (i < dim) product = i == j ? row[i] * row[i] : (SQRT_2 * row[i]) * row[j];
    out[index] = product;
}

// Philox4x32-10 and Box–Muller, as provi-kernels has them: the same bits.
DEV void philox(u32 (&c)[4], u32 k0, u32 k1) {
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u64 left = 0xD2511F53ull * c[0], right = 0xCD9E8D57ull * c[2];
        u32 next[4] = {(u32)(right >> 32) ^ c[1] ^ k0, (u32)right, (u32)(left >> 32) ^ c[3] ^ k1, (u32)left};
#pragma unroll
        for (int i = 0; i < 4; i++) c[i] = next[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}
DEV double uniform(u64 x) { return number(x >> 12 | 0x3FF0000000000000ull) - (1.0 - 1.1102230246251565e-16); }
DEV double minus_two_ln(double v) {
    u64 b = bits(v) + (0x3FF0000000000000ull - SQRT_HALF);
    double m = number((b & 0x000FFFFFFFFFFFFFull) + SQRT_HALF);
    double k = number(b >> 52 | 0x4330000000000000ull) - (4503599627370496.0 + 1023.0);
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s, w = z * z;
    double p = (-2.0 * 0.18182889125261723 + -2.0 * 0.15331721600556042 * z) + -2.0 * 0.14616449685043406 * w;
    p = (-2.0 * 0.28571428625975487 + -2.0 * 0.2222221113479508 * z) + p * w;
    p = (-2.0 * 0.666666666666667 + -2.0 * 0.39999999999899505 * z) + p * w;
    return k * (-2.0 * LN_2) + s * (z * p - 4.0);
}
DEV void circle(u64 y, double &cosine, double &sine) {
    double h = uniform(y << 2) - 0.5, z = h * h;
    double s = 5.633933781537854e-8;
    s = s * z - 3.59864335298231e-6;
    s = s * z + 0.0001604411507421909;
    s = s * z - 0.004681754132340976;
    s = s * z + 0.07969262624604301;
    s = s * z - 0.6459640975062443;
    s = h * (s * z + 1.5707963267948966);
    double c = 4.6552961874867623e-7;
    c = c * z - 2.520013526428479e-5;
    c = c * z + 0.000919259950041661;
    c = c * z - 0.02086348073494657;
    c = c * z + 0.25366950789986475;
    c = c * z - 1.2337005501361513;
    c = c * z + 1.0;
    bool swap = y >> 62 & 1;
    u64 sign = 1ull << 63;
    cosine = number(bits(swap ? s : c) ^ ((y ^ y << 1) & sign));
    sine = number(bits(swap ? c : s) ^ (y & sign));
}

// u_k for draws first, first + 1, …: row k of `out`, `width` wide, with `dim` normals and zeros after them.
extern "C" __global__ void __launch_bounds__(256)
normals(u64 key, u64 at, u32 first, int count, int dim, int width, double *out) {
    i64 index = (i64)blockIdx.x * 256 + threadIdx.x;
    int pairs = width / 2;
    int draw = (int)(index / pairs), pair = (int)(index % pairs);
    if (draw >= count) return;
    u32 c[4] = {(u32)pair, first + (u32)draw, (u32)at, (u32)(at >> 32)};
    philox(c, (u32)key, (u32)(key >> 32));
    double radius = sqrt(minus_two_ln(uniform((u64)c[0] << 32 | c[1])));
    double cosine, sine;
    circle((u64)c[2] << 32 | c[3], cosine, sine);
    double *to = out + (size_t)draw * width + 2 * pair;
    to[0] = 2 * pair < dim ? radius * cosine : 0.0;
    to[1] = 2 * pair + 1 < dim ? radius * sine : 0.0;
}

// z_k = m + Cu_k, C packed by rows: each entry is one chain of fused multiply-adds, from m_i along row i.
extern "C" __global__ void __launch_bounds__(256)
transport(const double *normals, const double *mean, const double *factor, int count, int dim, int width, double *out) {
    i64 index = (i64)blockIdx.x * 256 + threadIdx.x;
    int draw = (int)(index / width), i = (int)(index % width);
    if (draw >= count) return;
    double sum = 0.0;
    if (i < dim) {
        sum = mean[i];
        const double *row = factor + (size_t)i * (i + 1) / 2, *u = normals + (size_t)draw * width;
        for (int j = 0; j <= i; j++) sum = fma(row[j], u[j], sum);
    }
    out[index] = sum;
}

#endif

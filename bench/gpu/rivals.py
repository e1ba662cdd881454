"""The same passes by torch and JAX, NumPyro's SVI, and the card's own limits: python3 rivals.py [ROWSxCOLUMNS ...]

Medians of three runs after a first one that is not counted. Everything is in 64 bits. Needs torch, jax, numpyro and cupy.
"""

import os
import statistics
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import cupy
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
# The kernels' sources: beside the repository's bench, or in this folder where only it was copied.
KERNELS = next(p for p in (os.path.join(HERE, "../../crates/provi-gpu/kernels"), HERE) if os.path.exists(p + "/functions.cuh"))

LIMITS = r"""
#include "functions.cuh"
extern "C" __global__ void __launch_bounds__(256, 2) products(int n, double *out) {
    double c[8][4] = {}, a[4] = {threadIdx.x * 1e-3, 1e-3, 1e-4, 1e-5}, b[2] = {1e-3, 1e-4};
    for (int k = 0; k < n; k++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+d"(c[i][0]), "+d"(c[i][1]), "+d"(c[i][2]), "+d"(c[i][3])
                : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    double s = 0;
    for (int i = 0; i < 8; i++) s += c[i][0] + c[i][1] + c[i][2] + c[i][3];
    out[blockIdx.x * 256 + threadIdx.x] = s;
}
extern "C" __global__ void __launch_bounds__(256, 2) likelihood(int n, double *out) {
    double c[16], sum[4] = {0, 0, 0, 0}, product[4] = {1, 1, 1, 1};
    for (int i = 0; i < 16; i++) c[i] = i * 0.1 - 0.7 + threadIdx.x * 1e-3;
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            add<KIND, false>(c[i], -1.0, 1.0, 1.0, sum[i % 4], product[i % 4]);
            c[i] += 1e-6;
        }
        if (k % 60 == 59) for (int i = 0; i < 4; i++) sum[i] += ln_one(product[i]), product[i] = 1.0;
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}
"""


def line(what, seconds, flops=0.0, note=""):
    rate = f"{flops / seconds / 1e12:10.1f} TFLOP/s" if flops else " " * 18
    print(f"{what:<58} {1e3 * seconds:11.3f} ms {rate}  {note}", flush=True)


def timed(run, wait):
    run()
    wait()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def limits():
    wait = cupy.cuda.runtime.deviceSynchronize
    out = cupy.zeros(264 * 256)
    blocks = 2 * cupy.cuda.Device().attributes["MultiProcessorCount"]
    out = cupy.zeros(blocks * 256)
    for kind in ["LOGISTIC", "POISSON", "BINOMIAL", "PROBIT"]:
        module = cupy.RawModule(code=LIMITS, options=(f"-I{KERNELS}", "-std=c++14", "-fmad=false", f"-DKIND={kind}"))
        if kind == "LOGISTIC":
            kernel, n = module.get_function("products"), 40_000
            seconds = timed(lambda: kernel((blocks,), (256,), (np.int32(n), out)), wait)
            line("limit: products of tensor cores, from registers", seconds, blocks * 8 * n * 8 * 2048)
        kernel, n = module.get_function("likelihood"), 4000
        seconds = timed(lambda: kernel((blocks,), (256,), (np.int32(n), out)), wait)
        line(f"limit: {kind.lower()} alone", seconds, 0.0, f"{blocks * 256 * 16 * n / seconds / 1e9:.0f}e9 values a second")
    a = cupy.random.default_rng(0).standard_normal((8192, 8192))
    seconds = timed(lambda: a @ a, wait)
    line("limit: 8192³ product by cuBLAS", seconds, 2 * 8192**3)
    big = cupy.zeros(1 << 29)
    other = cupy.empty_like(big)
    seconds = timed(lambda: cupy.copyto(other, big), wait)
    line("limit: copy in memory", seconds, 0.0, f"{2 * big.nbytes / seconds / 1e12:.2f} TB/s")


def torch_passes(rows, columns, draws):
    wait = torch.cuda.synchronize
    make = torch.Generator(device="cuda").manual_seed(1)
    x = torch.randn(rows, columns, dtype=torch.float64, device="cuda", generator=make)
    sign = 1.0 - 2.0 * (torch.rand(rows, device="cuda", generator=make, dtype=torch.float64) < 0.5).double()
    z = 0.1 * torch.randn(draws, columns, dtype=torch.float64, device="cuda", generator=make)
    block = max(1, min(draws, int(2e9 / rows)))

    def densities(function):
        return torch.cat([function(x, z[k : k + block], sign) for k in range(0, draws, block)])

    def plain(x, z, sign):
        return torch.nn.functional.softplus((x @ z.T) * sign[:, None]).sum(0)

    size = f"{rows} × {columns}"
    product = 2.0 * rows * columns
    line(f"{size}: {draws} densities, torch", timed(lambda: densities(plain), wait), product * draws)
    try:
        fused = torch.compile(plain)
        line(f"{size}: {draws} densities, torch.compile", timed(lambda: densities(fused), wait), product * draws)
    except Exception as error:
        print(f"torch.compile: {error}".split("\n")[0])
    mean, factor = 0.1 * torch.ones(columns, dtype=torch.float64, device="cuda"), 0.001 * torch.eye(columns, dtype=torch.float64, device="cuda")
    nodes = torch.linspace(-9, 9, 49, dtype=torch.float64, device="cuda")
    weights = torch.exp(-0.5 * nodes**2)
    weights = weights / weights.sum()

    def expectations():
        hessian, gradient, value = 0, 0, 0
        for part, signs in zip(x.split(1_000_000), sign.split(1_000_000)):
            mu, sd = part @ mean, (part @ factor).square().sum(1).sqrt()
            v = torch.zeros_like(mu)
            first, second = torch.zeros_like(mu), torch.zeros_like(mu)
            for t, w in zip(nodes, weights):
                s = mu + sd * t
                p = torch.sigmoid(s)
                v += w * torch.nn.functional.softplus(s)
                first += w * p
                second += w * p * (1 - p)
            value = value + v.sum()
            gradient = gradient + first @ part
            hessian = hessian + part.T @ (second[:, None] * part)
        return value, gradient, hessian

    line(f"{size}: exact expectations with Hessian, torch", timed(expectations, wait), 2 * product * columns)


def jax_passes(rows, columns, draws):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    key = jax.random.key(1)
    x = jax.random.normal(key, (rows, columns), dtype=jnp.float64)
    sign = 1.0 - 2.0 * jax.random.bernoulli(key, 0.5, (rows,)).astype(jnp.float64)
    block = max(1, min(draws, int(2e9 / rows)))
    z = 0.1 * jax.random.normal(key, (draws // block * block, columns), dtype=jnp.float64).reshape(-1, block, columns)
    densities = jax.jit(lambda x, z, sign: jax.lax.map(lambda z: jnp.sum(jax.nn.softplus((x @ z.T) * sign[:, None]), 0), z))
    count = z.shape[0] * z.shape[1]
    seconds = timed(lambda: densities(x, z, sign).block_until_ready(), lambda: None)
    line(f"{rows} × {columns}: {count} densities, JAX", seconds, 2.0 * rows * columns * count)
    return jax, jnp, x, sign


def numpyro_svi(jax, jnp, x, sign, steps):
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoMultivariateNormal

    y = (1.0 - sign) / 2

    def model(x, y):
        beta = numpyro.sample("beta", dist.Normal(0, 1).expand([x.shape[1]]).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=x @ beta), obs=y)

    svi = SVI(model, AutoMultivariateNormal(model), numpyro.optim.Adam(0.005), Trace_ELBO(num_particles=10))
    start = time.perf_counter()
    svi.run(jax.random.key(0), 2, x, y, progress_bar=False)
    first = time.perf_counter() - start
    start = time.perf_counter()
    svi.run(jax.random.key(0), steps, x, y, progress_bar=False)
    line(f"{x.shape[0]} × {x.shape[1]}: NumPyro SVI, {steps} steps of 10 draws", time.perf_counter() - start, 0.0, f"first {first:.1f} s compile")


def main():
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    limits()
    cupy.get_default_memory_pool().free_all_blocks()
    for size in sys.argv[1:] or ["100000x50", "1000000x100"]:
        rows, columns = map(int, size.split("x"))
        torch_passes(rows, columns, 20_000)
        torch.cuda.empty_cache()
        jax, jnp, x, sign = jax_passes(rows, columns, 20_000)
        numpyro_svi(jax, jnp, x, sign, 1000 if rows * columns <= 1e8 else 200)
        del x, sign


if __name__ == "__main__":
    main()

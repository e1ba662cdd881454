"""What a Python log density costs beyond itself: crossing into Python and back, by size of the batch.

    python bench/python_callback.py            # needs the package: pip install .

The time of `model.log_density(z, out)`, which enters the library from Python and calls the function from there, less that of
calling the function. It has one crossing more than a step of a fit, so it bounds that from above. The budget is 10 µs and
1 ns for each number that goes over (points, log densities and gradients).
"""

from __future__ import annotations

import sys
import time

import numpy as np

import provi

SIZES = [(1, 1), (1, 10), (1, 1000), (16, 10), (100, 100), (1000, 100), (1000, 1000)]


def best(call, repeats: int = 30) -> float:
    """The least mean time of several rounds, in seconds: what is above it is the machine's noise."""
    begin = time.perf_counter()
    call()
    count = max(1, int(2e-3 / max(time.perf_counter() - begin, 1e-7)))
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - begin) / count)
    return min(times)


def main() -> int:
    worst = 0.0
    print(f"{'points':>7} {'dim':>5} {'function':>12} {'with provi':>12} {'crossing':>12} {'budget':>12}")
    for n, d in SIZES:
        z = np.random.default_rng(0).normal(size=(n, d))
        # Its results are ready: what is measured is the way there and back.
        result = (np.zeros(n), np.zeros((n, d)))

        def fn(z, result=result):
            return result

        model, out = provi.black_box(fn, d), (np.zeros(n), np.zeros((n, d)))
        alone, through = best(lambda: fn(z)), best(lambda: model.log_density(z, out))
        budget = 10e-6 + 1e-9 * (2 * n * d + n)
        crossing = through - alone
        worst = max(worst, crossing / budget)
        cells = [f"{1e6 * x:.2f} µs" for x in (alone, through, crossing, budget)]
        print(f"{n:>7} {d:>5} " + " ".join(f"{cell:>12}" for cell in cells))
    print(f"at worst {100 * worst:.0f} % of the budget")
    return int(worst > 1.0)


if __name__ == "__main__":
    sys.exit(main())

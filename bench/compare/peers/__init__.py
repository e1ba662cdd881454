"""The other packages: each module has `NAME`, `settings(workload, quick)` and `start(problem, setting)`.

A started run has `compile_seconds`, `advance(steps)` and `current() -> (m, C)`.
"""

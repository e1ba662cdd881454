"""Runs one package on one workload in one setting; called by run.py in the environment it made.

    measure.py PACKAGE WORKLOAD F_STAR SETTING OUT

SETTING is JSON; OUT gets the exact gap against the processor seconds since the first step, compilation apart.
"""

import importlib
import json
import pathlib
import statistics
import sys
import time

import problems


def trajectory(run, gap, setting):
    """(seconds, steps, gap), looked at whenever the steps have grown by a seventh. The looks are not timed."""
    spent, points, step = 0.0, [(0.0, 0, gap(*run.current()))], setting["chunk"]
    wall = time.monotonic()
    while spent < setting["seconds"] * 1.05 and time.monotonic() - wall < setting.get("wall", 1e9):
        steps = max(step, run.done // 7)
        begin = time.process_time()
        run.advance(steps)
        # A package that can only run to its own end knows which part of that was steps.
        spent += getattr(run, "seconds", time.process_time() - begin)
        points.append((spent, run.done, gap(*run.current())))
        if points[-1][2] <= setting.get("enough", 1e-4) or points[-1][2] == float("inf"):
            break
    return points


def remeasure(run, points, most=8, short=0.3):
    """Short times again, each as one uninterrupted run from the start and the median of three, as provi's are."""
    again = []
    for seconds, steps, gap in points[:most]:
        if not 0 < seconds < short:
            again.append((seconds, steps, gap))
            continue
        times = []
        for _ in range(3):
            run.restart()
            begin = time.process_time()
            run.advance(steps)
            times.append(time.process_time() - begin)
        again.append((statistics.median(times), steps, gap))
    return again + points[most:]


def main():
    package, workload, f_star, setting, out = sys.argv[1:]
    problem, setting = problems.Problem(workload), json.loads(setting)
    begin = time.process_time()
    peer = importlib.import_module(f"peers.{package}")
    imported = time.process_time() - begin
    run = peer.start(problem, setting)
    points = trajectory(run, problems.Gap(problem, float(f_star)), setting)
    # Only where a few steps do it does a single reading of the clock matter.
    if setting["chunk"] == 1 and hasattr(run, "restart"):
        points = remeasure(run, points)
    found = {
        "package": peer.NAME,
        "workload": workload,
        "setting": setting,
        "import_seconds": imported,
        "compile_seconds": run.compile_seconds,
        "points": points,
    }
    pathlib.Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main()

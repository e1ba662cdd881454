#!/usr/bin/env python3
"""Runs provi and other packages on the zoo, holds every answer against its stored reference, and writes docs/zoo.md.

    python3 bench/zoo/run.py                              # everything that target/zoo/results.json does not have yet
    python3 bench/zoo/run.py --columns provi --again      # provi anew, the others as they were
    python3 bench/zoo/run.py --only means-centred         # problems whose name holds this
    python3 bench/zoo/run.py --table                      # the page from what is there
    python3 bench/zoo/run.py --elbos                      # ELBOs where provi's error is not the least, then the page
    python3 bench/zoo/run.py --recipes                    # provi's recipes on plain cases, and their section of the page alone

Needs provi, jax, numpyro and optax; blackjax for Pathfinder and pymc for ADVI, and says where one is missing. One thread. A run
that takes more processor time than --limit, compilation included, is ended and counts as a failure.
"""

import argparse
import functools
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time
import zlib

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import answers
import reference
from cases import SPLITS, cases
from table import RECIPES, behind, write, write_recipes

RESULTS = reference.HERE.parents[1] / "target" / "zoo" / "results.json"
PAGE = reference.HERE.parents[1] / "docs" / "zoo.md"


def commit():
    """The last that changed the library here; provi must have been built from it."""
    command = ["git", "log", "-1", "--format=%h", "--", "crates", "Cargo.lock"]
    found = subprocess.run(command, cwd=reference.HERE.parents[1], capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def answered(problem, method, options):
    """The Gaussian that a method answers with."""
    return {
        "provi": lambda: answers.provi(problem, **options),
        "SVI": lambda: answers.svi(problem, "default"),
        "SVI tuned": lambda: answers.svi(problem, "tuned"),
        "SVI mean-field": lambda: answers.svi(problem, "mean-field"),
        "Laplace": lambda: answers.laplace(problem),
        "ADVI": lambda: answers.pymc_advi(problem),
        "Pathfinder": lambda: answers.pathfinder(problem),
        **{name: functools.partial(answers.recipe, problem, name) for name in RECIPES},
    }[method]()


def measured(problem, method, options):
    """One answer as a record: its errors, what it cost, what it says about itself."""
    if method == "Pathfinder":
        found, evaluations, seconds = answers.pathfinder_moments(problem)
        notes = {}
    elif method == "mixture":
        found, evaluations, seconds, notes = answers.mixture(problem)
    else:
        answer = answered(problem, method, options)
        found, evaluations, seconds = answers.moments(problem, answer), answer.evaluations, answer.seconds
        notes = answer.notes
    off, ratio = answers.errors(problem, reference.stored(problem), found)
    return {"mean_error": off, "sd_ratio": ratio, "evaluations": evaluations, "seconds": seconds, **notes}


def work(pipe):
    """Answers cases one after the other, in a process that keeps compiled code."""
    reference.set_up()
    known = {case.name: case for case in cases()}
    while True:
        name, method = pipe.recv()
        case = known[name]
        try:
            if method.startswith("elbos/"):
                other = method.removeprefix("elbos/")
                pair = [answered(case.problem, m, case.options() if m == "provi" else {}) for m in ("provi", other)]
                pipe.send(answers.elbos(case.problem, *pair))
            else:
                pipe.send(measured(case.problem, method, case.options()))
        except ImportError as error:
            pipe.send({"missing": str(error)})
        except Exception as error:  # a failure is a result, whatever the package calls it
            pipe.send({"failed": f"{type(error).__name__}: {error}"[:300]})


class Worker:
    """A process that can be ended when one run takes too long."""

    def __init__(self):
        self.process = None

    def ask(self, name, method, limit):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=work, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
        self.pipe.send((name, method))
        end = self.spent() + limit
        try:
            while self.spent() < end:
                if self.pipe.poll(1.0):
                    return self.pipe.recv()
            reason = f"not done after {limit:.0f} s"
        except (EOFError, OSError):
            reason = "the process ended"
        self.process.kill()
        self.process.join()
        self.process = None
        return {"failed": reason}

    def spent(self):
        """Seconds of processor time, which other programs on the machine do not lengthen."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", default="provi,SVI,SVI tuned,Laplace,Pathfinder,ADVI", help="methods, with commas")
    parser.add_argument("--only", default="", help="problems whose name holds one of these, with commas")
    parser.add_argument("--conditions", default="plain,far,starved", help="for provi; the others run on plain cases")
    parser.add_argument("--split", choices=SPLITS, help="only these cases")
    parser.add_argument("--again", action="store_true", help="also what has a result already")
    parser.add_argument("--table", action="store_true", help="write the page and run nothing")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds of processor time after which a run counts as a failure")
    parser.add_argument("--elbos", action="store_true", help="compare ELBOs where provi's error is not the least, and write the page")
    parser.add_argument("--largest", type=int, help="only problems with at most so many coordinates")
    parser.add_argument("--earlier", action="store_true", help="only the problems of the first table: not those written to test the verdict")
    parser.add_argument("--results", type=type(RESULTS), default=RESULTS, help="where results are kept")
    parser.add_argument("--recipes", action="store_true", help="run the recipes beside provi and write their section alone")
    options = parser.parse_args()
    if options.recipes:
        options.columns, options.conditions = ",".join(["provi", *RECIPES, "mixture"]), "plain"
    reference.set_up()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    words = options.only.split(",")
    chosen = [case for case in cases(options.conditions.split(",")) if any(word in case.problem.name for word in words)]
    chosen = [case for case in chosen if options.split in (None, case.split)]
    if options.earlier:
        chosen = [case for case in chosen if not case.problem.later]
    if options.largest is not None:
        chosen = [case for case in chosen if case.problem.dim <= options.largest]
    worker = Worker()

    def keep(key, record):
        results[key] = record
        options.results.parent.mkdir(parents=True, exist_ok=True)
        part = options.results.with_suffix(".part")
        part.write_text(json.dumps(results))
        part.replace(options.results)

    if options.elbos:
        for case, method in behind(results):
            key = f"{case.name}/elbos"
            if key not in results or options.again or results[key].get("other") != method:
                found = worker.ask(case.name, f"elbos/{method}", options.limit)
                keep(key, {"other": method, **found})
                print(f"{key}: {results[key]}", flush=True)
    elif not options.table:
        if "provi" in options.columns.split(","):
            results["commit"] = commit()
        methods, missing = options.columns.split(","), set()
        # In an order that depends on the names alone: any part of the run is a fair sample of the problems.
        mixed = sorted(chosen, key=lambda case: zlib.crc32(case.name.encode()))
        pairs = [(case, method) for case in mixed for method in methods]
        for case, method in pairs:
            key = f"{case.name}/{method}"
            stored = (reference.STORE / f"{case.problem.name}.json").exists()
            if (key in results and not options.again) or not stored or method in missing:
                continue
            if method != "provi" and case.condition != "plain":
                continue
            begin = time.monotonic()
            record = worker.ask(case.name, method, options.limit)
            if "missing" in record:
                print(f"{method} is missing here: {record['missing']}", flush=True)
                missing.add(method)
                continue
            keep(key, record)
            told = {k: v for k, v in record.items() if k in ("mean_error", "sd_ratio", "evaluations", "failed")}
            print(f"{key}: {told}, {time.monotonic() - begin:.1f} s in all", flush=True)
    (write_recipes if options.recipes else write)(results, PAGE)
    print(f"{PAGE} written")


if __name__ == "__main__":
    sys.exit(main())

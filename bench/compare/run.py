#!/usr/bin/env python3
"""Compares provi with other packages for Gaussian variational inference: one command, one thread each, one run.

    python3 bench/compare/run.py            # everything, about 20 minutes
    python3 bench/compare/run.py --quick    # two workloads, a few settings, 2 to 3 minutes
    python3 bench/compare/run.py --stan     # with Stan too; needs g++, and 4 minutes more to compile, once

It makes its own virtual environment from requirements.txt, builds provi, runs every package on the same numbers with
provi's runs in between, computes every exact gap with one evaluator, and writes peers.md and peers.svg. Needs Linux (taskset) and cargo.
"""

import argparse
import hashlib
import json
import os
import pathlib
import platform
import resource
import shutil
import subprocess
import sys
import time
import venv

from settings import settings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KINDS = {"W1": "linear", "W2": "logistic", "W3": "logistic", "W4": "hierarchical", "W5": "gaussian"}
STAN_PACKAGE = "httpstan==4.13.0"
MODES = ["exact", "black-box"]
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def environment(cache, with_stan):
    """The interpreter of the pinned environment, made on first use."""
    home = cache / "venv"
    python, stamp = home / "bin" / "python", home / "requirements.sha256"
    wanted = hashlib.sha256((HERE / "requirements.txt").read_bytes()).hexdigest()
    if not (stamp.exists() and stamp.read_text() == wanted):
        say(f"making {home}")
        venv.create(home, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        stamp.write_text(wanted)
    if with_stan:
        # For the compiler and the headers it carries; the rest of it is a server, whose dependencies are left out.
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", STAN_PACKAGE], check=True)
    return python


def build():
    say("building provi")
    command = ["cargo", "build", "--release", "--quiet", "-p", "provi-compare", "-p", "provi-cli"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "provi-compare", target / "release" / "provi"


class Bench:
    def __init__(self, cache, python, provi):
        self.work, self.python, self.provi = cache / "work", python, provi
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        kept = {"PYTENSOR_FLAGS": f"base_compiledir={cache / 'pytensor'}", "PROVI_COMPARE_CACHE": str(cache)}
        self.environment = {**os.environ, **ONE_THREAD, **kept}
        core = max(os.sched_getaffinity(0))
        self.pin = ["taskset", "-c", str(core)]
        self.log = open(cache / "log.txt", "w")

    def call(self, *command, check=True):
        """Runs a command on the one core; its words go to the log."""
        command = [*self.pin, *map(str, command)]
        done = subprocess.run(command, env=self.environment, stdout=self.log, stderr=self.log, cwd=HERE)
        if check and done.returncode != 0:
            sys.exit(f"failed, see {self.log.name}: {' '.join(command)}")
        return done.returncode == 0

    def workload(self, name, first, with_stan):
        directory = self.work / name
        self.call(self.python, HERE / "prepare.py", name, directory, self.provi)
        f_star = json.loads((directory / "f_star.json").read_text())
        chosen = settings(name, first, with_stan)
        # provi runs first, last and in the middle, so that a change of the machine's mood shows.
        rounds = {0, len(chosen) // 2, len(chosen)}
        ladders, peers = [], []
        for at in range(len(chosen) + 1):
            if at in rounds:
                say(f"{name} provi")
                for mode in MODES:
                    out = directory / f"{mode}-{at}"
                    self.call(self.provi, KINDS[name], directory, mode, f_star, at, out)
                    ladders.append((mode, out))
            if at == len(chosen):
                break
            package, setting = chosen[at]
            out = directory / f"peer-{at}.json"
            say(f"{name} {package} {setting['label']}: {setting['name']}")
            arguments = [package, name, f_star, json.dumps(setting), out]
            if self.call(self.python, HERE / "measure.py", *arguments, check=False):
                peers.append(json.loads(out.read_text()))
            else:
                say(f"{name} {package} failed, see {self.log.name}")
        self.call(self.python, HERE / "gaps.py", name, f_star, *[out for _, out in ladders])
        found = [{"mode": mode, **json.loads(out.with_suffix(".json").read_text())} for mode, out in ladders]
        return {"name": name, "f_star": f_star, "provi": found, "peers": peers}

    def processes(self, command):
        """Median wall and processor seconds of whole processes, the two kinds in turn."""
        data = ROOT / "crates" / "provi" / "tests" / "data" / "W2.csv"
        ours = [command, "fit", data, "y ~ .", "--prior-scale", "1"]
        theirs = [self.python, "-c", "import numpyro"]
        seconds = {"provi": [], "import": []}
        for _ in range(5):
            for name, words in (("provi", ours), ("import", theirs)):
                before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                self.call(*words)
                after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begin
                seconds[name].append((wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
        return {name: [sorted(column)[2] for column in zip(*rows)] for name, rows in seconds.items()}


def machine():
    """The processor, as far as the system says, and how busy it was."""
    words = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        words.setdefault(key.strip(), value.strip())
    name = words.get("model name", platform.machine())
    detail = [f"{key.split()[-1]} {words[key]}" for key in ("cpu family", "model") if key in words]
    return f"{', '.join([name, *detail])}; {os.cpu_count()} cores, load {os.getloadavg()[2]:.0f} from other work and this"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="W1 and W2 with four settings each: does the harness work?")
    parser.add_argument("--only", default="", help="workloads, such as W2,W4")
    parser.add_argument("--first", type=int, help="only so many settings of each workload, in the order of settings.py")
    parser.add_argument("--stan", action="store_true", help="Stan's ADVI as well, by the library that httpstan carries")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / "target" / "compare", help="environment and raw results")
    parser.add_argument("--out", type=pathlib.Path, help="where peers.md and peers.svg go [default: the cache]")
    options = parser.parse_args()
    cache = options.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    python = environment(cache, options.stan)
    provi, command = build()
    names = options.only.split(",") if options.only else ["W1", "W2"] if options.quick else list(KINDS)
    bench = Bench(cache, python, provi)
    out = (options.out or cache).resolve()
    processes, found = bench.processes(command), []
    for name in names:
        found.append(bench.workload(name, 4 if options.quick else options.first, options.stan))
        # Written after every workload: a run that is cut short leaves what it has.
        results = {
            "command": " ".join(["python3 bench/compare/run.py", *sys.argv[1:]]),
            "workloads": found,
            "processes": processes,
            "machine": machine(),
            "minutes": (time.monotonic() - begin) / 60,
            "versions": (HERE / "requirements.txt").read_text().split() + [STAN_PACKAGE] * options.stan,
        }
        (cache / "results.json").write_text(json.dumps(results))
        bench.call(python, HERE / "report.py", cache / "results.json", out)
    print((out / "peers.md").read_text())
    say(f"{out / 'peers.md'} and {out / 'peers.svg'} written")


if __name__ == "__main__":
    main()

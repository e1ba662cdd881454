"""Stan: full-rank ADVI of the Stan library that the httpstan package carries, with its own step-size search.

Stan hands out no q before its end, so there is one point: where its stopping rule, or its limit of 10 000 iterations, ends it.
Its final factor may be any square root; gaps are computed from the triangular one of the same covariance.
"""

import ctypes
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import time

import numpy as np

import problems

NAME = "Stan"
SOURCES = pathlib.Path(__file__).resolve().parent / "stan"
# Found, not imported: its server's own dependencies are not needed.
CARRIED = pathlib.Path(importlib.util.find_spec("httpstan").submodule_search_locations[0])
FLAGS = "-std=c++17 -O3 -fPIC -fvisibility=default -pthread -D_REENTRANT -DBOOST_DISABLE_ASSERTS -w".split()
LIBRARIES = ["cvodes", "idas", "kinsol", "nvecserial"]


def library(kind):
    """The shared library of one model, compiled once for its sources; and the seconds that took."""
    model, advi = SOURCES / f"{kind}.stan", SOURCES / "advi.cpp"
    digest = hashlib.sha256(model.read_bytes() + advi.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
    home = pathlib.Path(os.environ["PROVI_COMPARE_CACHE"]) / "stan"
    home.mkdir(parents=True, exist_ok=True)
    made, took = home / f"{kind}-{digest}.so", home / f"{kind}-{digest}.seconds"
    if not took.exists():
        begin = time.monotonic()
        stanc, source = CARRIED / "stanc", home / f"{kind}-{digest}.hpp"
        stanc.chmod(0o755)
        subprocess.run([stanc, f"--name={kind}_model", f"--o={source}", model], check=True)
        command = ["g++", *FLAGS, "-isystem", CARRIED / "include", "-shared", "-o", made]
        command += ["-include", source, "-x", "c++", advi, "-x", "none"]
        command += [CARRIED / "lib" / f"libsundials_{name}.a" for name in LIBRARIES]
        command += ["-L", CARRIED / "lib", "-ltbb", f"-Wl,-rpath,{CARRIED / 'lib'}"]
        subprocess.run(command, check=True)
        took.write_text(f"{time.monotonic() - begin:.1f}")
    return made, float(took.read_text())


def data(problem):
    found = {"columns": problem.x.shape[1], "x": problem.x.tolist()}
    if problem.y is not None:
        whole = problems.KINDS[problem.name] != "linear"
        found |= {"rows": len(problem.y), "y": [int(y) for y in problem.y] if whole else problem.y.tolist()}
    if problem.group is not None:
        found |= {"groups": int(problem.group.max()) + 1, "group": [int(g) + 1 for g in problem.group]}
    return found


class Run:
    def __init__(self, problem, setting):
        made, self.compile_seconds = library(problems.KINDS[problem.name])
        self.file = made.parent / f"{problem.name}.json"
        self.file.write_text(json.dumps(data(problem)))
        self.function = ctypes.CDLL(str(made)).provi_compare_advi
        self.function.restype = ctypes.c_double
        self.function.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_double, ctypes.c_uint]
        self.function.argtypes += [ctypes.POINTER(ctypes.c_double)] * 2
        self.setting, self.done, self.seconds = setting, 0, 0.0
        self.m, self.C = np.zeros(problem.d), np.eye(problem.d)

    def advance(self, steps):
        """The whole run, whatever the number of steps: Stan decides when it ends."""
        pointer = lambda array: array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        most, tolerance = self.setting["iterations"], self.setting["tolerance"]
        arguments = [str(self.file).encode(), self.setting["draws"], most, tolerance, 1]
        self.seconds = self.function(*arguments, pointer(self.m), pointer(self.C))
        if self.seconds < 0:
            raise RuntimeError("Stan failed; its words are in the log")
        self.done += 1

    def current(self):
        # The same covariance with a positive diagonal, so that the logarithm of the determinant is right.
        return self.m, np.linalg.cholesky(self.C @ self.C.T)


def start(problem, setting):
    return Run(problem, setting)

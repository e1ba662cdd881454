"""Which cases there are, and which of them may be looked at when thresholds are chosen.

A case is a problem under a condition: `plain`, provi's defaults; `far`, told to begin at a start that nobody would choose;
`starved`, allowed a few evaluations only. The last two make bad answers on purpose, for the verdict to catch.
"""

import zlib
from dataclasses import dataclass

from models import problems
from models.problem import Problem

SPLITS = ("held out", "reported", "calibration")
CONDITIONS = ("plain", "far", "starved")


@dataclass(frozen=True)
class Case:
    problem: Problem
    condition: str

    @property
    def name(self):
        return f"{self.problem.name}/{self.condition}"

    @property
    def split(self):
        """By the problem, so that no posterior is on two sides. "held out" are the problems that came after the limits in use.
        Of those before, the first with closed forms were all looked at when limits were chosen, and a third of the others by name;
        the rest, "reported", was held out then, and its table was read."""
        if self.problem.later:
            return "held out"
        closed = self.problem.exact is not None and not self.problem.fresh
        return "calibration" if closed or zlib.crc32(self.problem.name.encode()) % 3 == 0 else "reported"

    def options(self):
        """What provi is told."""
        if self.condition == "far":
            return {"init": self.problem.far_start()}
        if self.condition == "starved":
            return {"evaluations": 10 * (self.problem.dim + 10)}
        return {}


def cases(conditions=CONDITIONS):
    return [Case(problem, condition) for problem in problems() for condition in conditions]

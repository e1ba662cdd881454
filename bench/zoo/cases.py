"""Which cases there are, and which of them may be looked at when thresholds are chosen.

A case is a problem under a condition: `plain`, provi's defaults; `far`, told to begin at a start that nobody would choose;
`starved`, allowed a few evaluations only. The last two make bad answers on purpose, for the verdict to catch.
"""

import zlib
from dataclasses import dataclass

from models import problems
from models.problem import Problem

CONDITIONS = ("plain", "far", "starved")


@dataclass(frozen=True)
class Case:
    problem: Problem
    condition: str

    @property
    def name(self):
        return f"{self.problem.name}/{self.condition}"

    @property
    def held_out(self):
        """By the problem, so that no posterior is on both sides. The first problems with closed forms were all looked at when the
        limits were chosen; of the others a third calibrates, by name, and the rest is held out."""
        return (self.problem.exact is None or self.problem.fresh) and zlib.crc32(self.problem.name.encode()) % 3 != 0

    def options(self):
        """What provi is told."""
        if self.condition == "far":
            return {"init": self.problem.far_start()}
        if self.condition == "starved":
            return {"evaluations": 10 * (self.problem.dim + 10)}
        return {}


def cases(conditions=CONDITIONS):
    return [Case(problem, condition) for problem in problems() for condition in conditions]

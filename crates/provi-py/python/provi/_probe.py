"""``python -m provi._probe KIND PATH SEED``: tries a library in a process of its own, its data on standard input.

A library that crashes takes this process with it, and not the one that asked.
"""

from __future__ import annotations

import os
import sys
from typing import Optional

from . import _provi


def command() -> Optional[tuple[str, list[str], list[tuple[str, str]]]]:
    """The program, words and environment that end here; nothing where Python is part of another program and cannot be
    started by itself."""
    if not sys.executable:
        return None
    # The child finds the package where this one was found, whatever the current folder holds.
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    others = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([here, others] if others else [here])
    return sys.executable, ["-m", "provi._probe"], [("PYTHONPATH", path), ("PYTHONSAFEPATH", "1")]


if __name__ == "__main__":
    _provi.probe_library(*sys.argv[1:4])

"""The code of the Python guide runs."""

import importlib.util
import pathlib
import re

import pytest

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), flags=re.M | re.S)


def run_blocks():
    """Runs the blocks one after the other; returns what those that were left out need."""
    names, left_out = {}, []
    for block in BLOCKS:
        needed = re.match(r"# needs: (\w+)", block)
        if needed and importlib.util.find_spec(needed[1]) is None:
            left_out.append(needed[1])
        else:
            exec(compile(block, str(GUIDE), "exec"), names)
    return left_out


@pytest.mark.filterwarnings("ignore:JAX is set to 32-bit")
def test_the_blocks_of_the_guide_run(capsys):
    pytest.importorskip("sklearn")
    assert len(BLOCKS) >= 6
    for needed in run_blocks():
        with capsys.disabled():
            print(f"\na block of the guide is left out: {needed} is not installed")

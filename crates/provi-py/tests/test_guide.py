"""The code of the Python guide runs."""

import importlib.util
import pathlib
import re

import pytest

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.filterwarnings("ignore:JAX is set to 32-bit")
def test_the_blocks_of_the_guide_run_one_after_the_other(capsys):
    pytest.importorskip("sklearn")
    assert len(BLOCKS) >= 6
    names = {}
    for block in BLOCKS:
        needed = re.match(r"# needs: (\w+)", block)
        if needed and importlib.util.find_spec(needed[1]) is None:
            with capsys.disabled():
                print(f"\na block of the guide is left out: {needed[1]} is not installed")
            continue
        exec(compile(block, str(GUIDE), "exec"), names)

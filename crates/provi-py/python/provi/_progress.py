"""How a run is going: a bar on standard error in terminals, a bar of its own in notebooks."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any, Callable, Optional, Union

Observer = Callable[[int, int, float, Optional[float]], None]
Progress = Union[None, bool, Observer]

_WIDTH = 20


def in_notebook() -> bool:
    """Does a notebook kernel run this?"""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Watcher:
    """The observer a fit is given, if any; ends what it drew when the fit ends."""

    def __init__(self, progress: Progress) -> None:
        self._bar: Optional[_Bar] = None
        self.observer: Optional[Observer] = None
        if callable(progress):
            self.observer = progress
        elif progress or (progress is None and _wanted()):
            self._bar = _Notebook() if in_notebook() else _Terminal()
            self.observer = self._bar.show

    def __enter__(self) -> Optional[Observer]:
        return self.observer

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()


def _wanted() -> bool:
    try:
        return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    except (AttributeError, ValueError):  # no standard error, or a closed one
        return False


class _Bar:
    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.first: Optional[tuple[int, float]] = None

    def show(self, step: int, steps: int, elbo: float, gap: Optional[float]) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = (step, now)
        share = min(step / steps, 1.0) if steps else 0.0
        words = f"step {step:,} of {steps:,}, ELBO {'=' if gap is not None else '≈'} {elbo:.2f}"
        if gap is not None and gap < float("inf"):
            words += f", gap ≤ {gap:.1e}"
        made, since = step - self.first[0], now - self.first[1]
        if made > 0 and since > 0:
            words += f", about {(steps - step) * since / made:.0f} s left"
        self.draw(share, words)

    def draw(self, share: float, words: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class _Terminal(_Bar):
    def __init__(self) -> None:
        super().__init__()
        self.shown = 0

    def draw(self, share: float, words: str) -> None:
        full = round(_WIDTH * share)
        line = f"{'━' * full}{' ' * (_WIDTH - full)} {100 * share:3.0f}%  {words}"
        sys.stderr.write("\r" + line.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(line)

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()


class _Notebook(_Bar):
    def __init__(self) -> None:
        super().__init__()
        self.handle: Any = None

    def draw(self, share: float, words: str) -> None:
        from IPython.display import HTML, display

        html = HTML(f'<progress max="1" value="{share:.3f}"></progress> {escape(words)}')
        if self.handle is None:
            self.handle = display(html, display_id=True)
        else:
            self.handle.update(html)

    def close(self) -> None:
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))

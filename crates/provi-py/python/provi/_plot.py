"""Plots, where matplotlib is installed. Nothing here computes more than it draws."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

# Default number of panels: as many as a page can show.
_MARGINALS = 12
_PAIR = 5
_COLUMNS = 4
_BINS = 40


class Plots:
    """``plot_trace``, ``plot_marginals`` and ``plot_pair`` of a fit; each returns its axes."""

    __slots__ = ()

    def plot_trace(self, *, ax: Any = None) -> np.ndarray:
        """The ELBO along the run and, where it is proved, the gap to the best Gaussian. ``ax``: two axes to draw on."""
        trace = self.trace  # type: ignore[attr-defined]
        axes = np.atleast_1d(_pyplot().subplots(1, 2, figsize=(9, 3))[1] if ax is None else ax)
        elbo, gap = axes
        elbo.plot(trace["step"], trace["elbo"])
        elbo.set(xlabel="step", ylabel="ELBO (nats)")
        proved = np.isfinite(trace["gap"]) & (trace["gap"] > 0.0)
        if proved.any():
            gap.semilogy(trace["step"][proved], trace["gap"][proved])
        else:
            gap.text(0.5, 0.5, "not proved along the way", ha="center", transform=gap.transAxes)
        gap.set(xlabel="step", ylabel="gap at most (nats)")
        return axes

    def plot_marginals(
        self,
        names: Optional[Sequence[str]] = None,
        *,
        level: Optional[float] = None,
        draws: Optional[int] = None,
        axes: Any = None,
    ) -> np.ndarray:
        """The marginal of each parameter from draws, with its mean and interval. ``names``: which, instead of the first."""
        names, left_out = self._shown(names, _MARGINALS)
        table, values = self.summary(level), self._numbers(draws)  # type: ignore[attr-defined]
        if axes is None:
            columns = min(len(names), _COLUMNS)
            size = (2.6 * columns, 2.2 * -(-len(names) // columns))
            axes = _pyplot().subplots(-(-len(names) // columns), columns, figsize=size, layout="constrained")[1]
        axes = np.atleast_1d(axes)
        for ax, name in zip(axes.flat, names):
            row = table.row(name)
            ax.hist(values[name], bins=_BINS, density=True, histtype="stepfilled", alpha=0.4)
            ax.axvline(row["mean"], linewidth=1.0)
            ax.axvspan(row["lower"], row["upper"], alpha=0.12)
            ax.set(title=name, yticks=[])
        for ax in axes.flat[len(names) :]:
            ax.set_visible(False)
        _tell(axes, left_out)
        return axes

    def plot_pair(
        self, names: Optional[Sequence[str]] = None, *, draws: Optional[int] = None, axes: Any = None
    ) -> np.ndarray:
        """Draws of each two parameters against one another. ``names``: which, instead of the first."""
        names, left_out = self._shown(names, _PAIR)
        values, n = self._numbers(draws), len(names)
        if axes is None:
            _, axes = _pyplot().subplots(n, n, figsize=(2.0 * n, 2.0 * n), squeeze=False, layout="constrained")
        axes = np.atleast_2d(axes)
        for i, down in enumerate(names):
            for j, across in enumerate(names):
                ax = axes[i, j]
                if j > i:
                    ax.set_visible(False)
                elif i == j:
                    ax.hist(values[down], bins=_BINS, density=True, histtype="stepfilled", alpha=0.4)
                    ax.set_yticks([])
                else:
                    ax.plot(values[across], values[down], ".", markersize=1.5, alpha=0.4)
                if i == n - 1:
                    ax.set_xlabel(across)
                if j == 0 and i > 0:
                    ax.set_ylabel(down)
        _tell(axes, left_out)
        return axes

    def _shown(self, names: Optional[Sequence[str]], most: int) -> tuple[list[str], int]:
        """The names asked for, or the first ones; and how many that leaves out."""
        known = self.names  # type: ignore[attr-defined]
        if names is None:
            return known[:most], max(len(known) - most, 0)
        names = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            raise KeyError(f"no parameter is called {', '.join(unknown) or 'nothing'}; there are {', '.join(known)}")
        return names, 0

    def _numbers(self, draws: Optional[int]) -> dict[str, np.ndarray]:
        """Draws of every number among the parameters, by name."""
        chains, usual = self._core.usual_draws()  # type: ignore[attr-defined]
        points = self._points(draws or chains * usual)  # type: ignore[attr-defined]
        return dict(zip(self.names, points.T))  # type: ignore[attr-defined]


def _tell(axes: np.ndarray, left_out: int) -> None:
    if left_out:
        figure = axes.flat[0].figure
        figure.supxlabel(f"{left_out} more are not shown; names=… says which to show", fontsize="small")


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return pyplot

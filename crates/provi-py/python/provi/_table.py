"""A small table: columns of numbers with a name for each row."""

from __future__ import annotations

from html import escape
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from ._certificate import bound_text
from ._provi import number_text, probability_text


class Table:
    """Columns by name, rows by name; prints itself, in notebooks too.

    Errors are proved bounds and are printed rounded up; a dash means that nothing is proved. ``table["mean"]`` is a
    column, ``table.row("age")`` a row.
    """

    __slots__ = ("_bounds", "_probabilities", "columns", "footer", "header", "index")

    def __init__(
        self,
        index: Sequence[str],
        columns: dict[str, np.ndarray],
        *,
        bounds: Sequence[str] = (),
        probabilities: Sequence[str] = (),
        footer: str = "",
        header: str = "",
    ) -> None:
        self.index = list(index)
        self.columns = columns
        self.footer = footer
        self.header = header
        self._bounds = frozenset(bounds)
        self._probabilities = frozenset(probabilities)

    def __getitem__(self, column: str) -> np.ndarray:
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def row(self, name: str) -> dict[str, float]:
        """One row, by its name."""
        at = self.index.index(name)
        return {column: float(values[at]) for column, values in self.columns.items()}

    def extended(self, other: Table) -> Table:
        """This table with the rows of another below it; columns that the other lacks are NaN there."""
        if len(other) == 0:
            return self
        empty = np.full(len(other), np.nan)
        columns = {name: np.concatenate([values, other.columns.get(name, empty)]) for name, values in self.columns.items()}
        return Table(
            [*self.index, *other.index],
            columns,
            bounds=tuple(self._bounds),
            probabilities=tuple(self._probabilities),
            footer=self.footer,
            header=self.header,
        )

    def to_dict(self) -> dict[str, dict[str, Optional[float]]]:
        """``{row: {column: number}}``, ``None`` where nothing is proved."""
        clean = lambda x: None if np.isnan(x) else float(x)  # noqa: E731
        return {
            name: {column: clean(values[i]) for column, values in self.columns.items()}
            for i, name in enumerate(self.index)
        }

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the names as its index."""
        import pandas

        return pandas.DataFrame(self.columns, index=pandas.Index(self.index, name="name"))

    def _cells(self) -> list[list[str]]:
        columns = [self.index]
        for name, values in self.columns.items():
            columns.append([self._text(name, float(x)) for x in values])
        return [list(row) for row in zip(*columns)]

    def _text(self, column: str, x: float) -> str:
        if column in self._bounds:
            return bound_text(x, 2)
        return "–" if np.isnan(x) else probability_text(x) if column in self._probabilities else number_text(x)

    def __repr__(self) -> str:
        heads, rows = ["", *self.columns], self._cells()
        widths = [max(len(row[j]) for row in [heads, *rows]) for j in range(len(heads))]
        lines = []
        for row in [heads, *rows]:
            first = row[0].ljust(widths[0])
            lines.append("  ".join([first, *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]).rstrip())
        return "\n".join([*([self.header] if self.header else []), *lines, *([self.footer] if self.footer else [])])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in ["", *self.columns])
        body = "".join(
            "<tr><th>" + escape(row[0]) + "</th>" + "".join(f"<td>{escape(x)}</td>" for x in row[1:]) + "</tr>"
            for row in self._cells()
        )
        footer = f"<pre>{escape(self.footer)}</pre>" if self.footer else ""
        header = f"<pre>{escape(self.header)}</pre>" if self.header else ""
        return f"{header}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{footer}"

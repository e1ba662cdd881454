"""Effects of variables."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import _columns, _provi
from ._table import Table


class Effects(Table):
    """Effects with their intervals; a :class:`Table` whose rows have more to say than numbers.

    ``rows`` lists everything about each effect: variable, value, reference, by, estimate, low, high, error, status and interval.
    If the response has levels without an order, ``outcome`` is the level that a row's number belongs to.
    ``error`` is a proved bound of the difference between the estimate and the posterior's own value, NaN where none is proved.
    ``html`` is a page with the picture.
    """

    __slots__ = ("html", "rows")

    def __init__(self, found: dict[str, Any], notes: list[str], html: str) -> None:
        names = list(found)
        self.rows = [dict(zip(names, row)) for row in zip(*found.values())]
        self.html = html
        numbers = {name: np.asarray(found[name]) for name in ("estimate", "error", "low", "high")}
        super().__init__([_name(row) for row in self.rows], numbers, bounds=("error",), footer="\n".join(notes))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with every column of ``rows``."""
        import pandas

        return pandas.DataFrame(self.rows)

    def _repr_html_(self) -> str:
        picture = self.html[self.html.find("<figure") : self.html.rfind("</figure>") + len("</figure>")]
        return picture if picture.startswith("<figure") else super()._repr_html_()


def _name(row: dict[str, Any]) -> str:
    by = "" if row["by"] is None else f" | {row['by']}"
    outcome = f" → {row['outcome']}" if row.get("outcome") is not None else ""
    return f"{row['variable']}: {row['effect']}{by}{outcome}"


def effects(
    core: Any,
    variables: Union[None, str, Sequence[str]],
    data: Any,
    values: Optional[Sequence[Any]],
    at: Optional[Mapping[str, Any]],
    **options: Any,
) -> Effects:
    asked = {name: value for name, value in options.items() if value is not None}
    asked["variables"] = [variables] if isinstance(variables, str) else list(variables or ())
    asked["values"] = [_text(value) for value in (() if values is None else values)]
    asked["at"] = [(name, _text(value)) for name, value in (at or {}).items()]
    source = None if data is None else _columns.source(data)
    return Effects(*_provi.effects(core, source, asked))


def _text(value: Any) -> str:
    """A value as the command would be given it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)

"""The reference of the package is made of its own signatures and docstrings; PROVI_BLESS=1 writes it."""

import dataclasses
import inspect
import os
import pathlib

import provi

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "reference" / "python.md"

HEAD = """# Python, name by name

Made from the package's own signatures and docstrings by the tests (`PROVI_BLESS=1`, `crates/provi-py/tests/test_reference.py`); not to be edited by
hand. What to do with it is in [provi in Python](../python.md).
"""


def signature(thing, name):
    """With every parameter on its line, where there are several."""
    found = inspect.signature(thing)
    parameters = [p for p in found.parameters.values() if p.name != "self"]
    words, keyword = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not keyword:
            words.append("*")
            keyword = True
        word = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        if p.annotation is not p.empty:
            word += f": {note(p.annotation)}"
        if p.default is not p.empty:
            word += f" = {p.default!r}"
        words.append(word)
    back = "" if found.return_annotation in (found.empty, None, "None") else f" -> {note(found.return_annotation)}"
    inside = ", ".join(words)
    if len(name + inside + back) > 90:
        inside = "\n    " + ",\n    ".join(words) + ",\n"
    return f"{name}({inside}){back}"


def note(annotation):
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def code(text, kind="python"):
    return f"```{kind}\n{text}\n```\n"


def doc(thing):
    """The docstring as it is written, unless a base class or Python made it up."""
    text = inspect.getdoc(thing) or ""
    return code(text, "text") if text else ""


def members(cls):
    """What a class itself has, under names without an underscore, in the order of its source."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    for name, member in vars(cls).items():
        if name.startswith("_") or name in fields or name in getattr(cls, "__slots__", ()):
            continue
        if isinstance(member, property):
            back = inspect.signature(member.fget).return_annotation
            yield code(f"{cls.__name__}.{name}: {note(back)}") + "\n" + doc(member)
        elif isinstance(member, (classmethod, staticmethod)) or inspect.isfunction(member):
            function = getattr(cls, name)
            yield code(signature(function, f"{cls.__name__}.{name}")) + "\n" + doc(function)


def section(name):
    thing = getattr(provi, name)
    parts = [f"## {name}\n"]
    if not inspect.isclass(thing):
        return "\n".join([*parts, code(signature(thing, f"provi.{name}")), doc(thing)])
    bases = [base.__name__ for base in thing.__bases__ if base.__module__.startswith("provi")]
    parts.append(code(f"class provi.{name}" + (f"({', '.join(bases)})" if bases else "")))
    if not (dataclasses.is_dataclass(thing) and (thing.__doc__ or "").startswith(f"{name}(")):
        parts.append(doc(thing))
    if dataclasses.is_dataclass(thing):
        parts.append(code("\n".join(f"{f.name}: {note(f.type)}" for f in dataclasses.fields(thing) if f.name[0] != "_")))
    elif "__init__" in vars(thing):
        parts.append(code(signature(thing.__init__, f"provi.{name}")))
    return "\n".join([*parts, *members(thing)])


def page():
    names = [name for name in provi.__all__ if not name.startswith("_")]
    text = "\n".join([HEAD, *(section(name) for name in sorted(names, key=str.casefold))])
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for line, before in zip(lines, ["", *lines]) if line or before]
    return "\n".join(kept).rstrip() + "\n"


def test_the_reference_says_what_the_package_does():
    if os.environ.get("PROVI_BLESS"):
        PAGE.write_text(page(), encoding="utf-8")
    stored = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    assert stored == page(), "docs/reference/python.md is older than the package; run this test with PROVI_BLESS=1"

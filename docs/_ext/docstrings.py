"""Docstrings are plain text first: here they become sound reStructuredText.

Bars, as in |w|, and names that end in an underscore have a meaning in reStructuredText that they do
not have in our docstrings. References that a module lists once for all of its functions are added
to those that cite them.
"""

import re
import sys
from typing import Any

_CITED = re.compile(r"\[(\d+)\]_")
_LISTED = re.compile(r"^\.\. \[(\d+)\] (.+(?:\n   .+)*)", re.MULTILINE)
_CODE = re.compile(r"(``.+?``|`.+?`)")
_NAME = re.compile(r"(?<=[A-Za-z0-9])_(?![A-Za-z0-9_])")


def escaped(text: str) -> str:
    """Escape what is not code."""
    parts = _CODE.split(text)
    parts[::2] = [_NAME.sub(r"\\_", part.replace("|", r"\|")) for part in parts[::2]]
    return "".join(parts)


def sound(lines: list[str]) -> list[str]:
    """Escape bars and underscores outside of code, doctests and literal blocks."""
    made: list[str] = []
    literal: int | None = None  # how far the text before a literal block is indented
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and depth <= literal:
            literal = None
        if literal is not None or line.lstrip().startswith((">>>", "...", "..")):
            made.append(line)
            continue
        name, colon, kind = line.partition(" : ")
        entry = depth == 0 and colon and re.fullmatch(r"[\w, *]+", name)
        made.append(name + colon + escaped(kind) if entry else escaped(line))
        if line.rstrip().endswith("::"):
            literal = depth
    return made


def references(lines: list[str], module: str) -> list[str]:
    """Return a section with what the docstring cites and its module lists."""
    text = "\n".join(lines)
    cited = set(_CITED.findall(text))
    listed = dict(_LISTED.findall(sys.modules[module].__doc__ or ""))
    if not cited or "References\n---" in text or not cited <= set(listed):
        return []
    entries = [f".. [{number}] {listed[number]}" for number in sorted(cited)]
    return ["", "References", "----------", *"\n".join(entries).splitlines(), ""]


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Change the lines in place, before numpydoc reads them."""
    module = getattr(obj, "__module__", None)
    if isinstance(module, str) and module.startswith("mercer") and module in sys.modules:
        text = sound(lines)
        lines[:] = text + references(text, module)


def setup(app: Any) -> dict[str, bool]:
    """Register, ahead of numpydoc."""
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True}

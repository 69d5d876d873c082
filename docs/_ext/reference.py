"""The list of every public name: made from `__all__`, so that none can be missing."""

import inspect
from importlib import import_module
from pathlib import Path
from types import GenericAlias
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import mercer

# The order of the page; modules that are not named here follow.
FIRST = ("svm", "kernels", "model_selection")
_TITLE = "API reference"
_HEAD = f"""{_TITLE}
{"=" * len(_TITLE)}

Every public name, from its docstring. The machines can be imported from ``mercer`` itself:
``from mercer import SVC``. What estimators inherit from scikit-learn (``score``, ``get_params``,
``set_params``, ``set_output`` and their like) is in its documentation.
"""


def modules() -> list[str]:
    """Return the public modules of the package."""
    names = [name for name in mercer.__all__ if inspect.ismodule(getattr(mercer, name))]
    names.append("dask")  # which has to be imported by name, as it needs dask
    return sorted(names, key=lambda name: (FIRST.index(name) if name in FIRST else 99, name))


def functions() -> list[str]:
    """Return what `mercer` itself has beside modules and the machines of `mercer.svm`."""
    others = [name for name in mercer.__all__ if inspect.isroutine(getattr(mercer, name))]
    return sorted(others)


def section(name: str, members: list[str]) -> str:
    """Return the part of a module: what it is, and its names."""
    module = import_module(name)
    described, _, _ = (inspect.getdoc(module) or "").partition("\n\n")
    lines = [name, "-" * len(name), "", described, "", f".. currentmodule:: {name}", ""]
    lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    documented = [member for member in members if _has_page(getattr(module, member))]
    others = [member for member in members if member not in documented]
    lines += [*(f"   {member}" for member in documented), ""]
    comments = ModuleAnalyzer.for_module(name).find_attr_docs() if others else {}
    for member in others:
        lines += [
            f".. py:data:: {member}",
            "",
            *(f"   {text}" for text in comments["", member]),
            "",
        ]
    return "\n".join(lines)


def _has_page(member: object) -> bool:
    """Whether it has a docstring of its own; an alias of types has a comment."""
    return inspect.isroutine(member) or (
        inspect.isclass(member) and not isinstance(member, GenericAlias)
    )


def write(app: Any, config: Any) -> None:
    """Write the page, unless it is as it was."""
    parts = [_HEAD]
    parts += [
        section(f"mercer.{name}", list(import_module(f"mercer.{name}").__all__))
        for name in modules()
    ]
    if functions():
        parts.insert(1, section("mercer", functions()))
    text = "\n".join(parts)
    page = Path(app.srcdir) / "reference" / "index.rst"
    page.parent.mkdir(exist_ok=True)
    if not page.is_file() or page.read_text() != text:
        page.write_text(text)


def skip(
    app: Any, what: str, name: str, member: object, skipped: bool, options: Any
) -> bool | None:
    """Leave out what classes inherit from scikit-learn."""
    function = getattr(member, "fget", None) or member  # of a property
    module = getattr(function, "__module__", None) or ""
    return True if module.startswith("sklearn.") or name.endswith("_request") else None


def setup(app: Any) -> dict[str, bool]:
    """Register, before Sphinx looks for pages."""
    app.connect("config-inited", write)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}

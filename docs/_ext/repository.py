"""Pages that are files of the repository, and links to its other files.

Some Markdown is read in the repository and on the site. Here links to files that are not pages
become links to the repository, and the pages of `SHOWN` get the text of their file.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

import gallery

ROOT = Path(__file__).resolve().parents[2]
# The repository's address is written once.
ADDRESS = re.findall(r'^repository = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[0]
# Files at the root that are pages of the site.
SHOWN = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)")


def rewritten(text: str, folder: str) -> str:
    """Make links of a Markdown file in `folder` fit the site."""

    def target(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        anchor = match[2] or ""
        if path in SHOWN:
            path = f"docs/{SHOWN[path]}.md"
        if path.startswith("docs/"):
            return f"]({posixpath.relpath(path, 'docs')}{anchor})"
        if path.startswith("examples/") and path.endswith((".py", "README.md")):
            name = "index" if path.endswith(".md") else Path(path).stem
            return f"](gallery/{name})"
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({ADDRESS}/{kind}/main/{path}{anchor})"

    return _LINK.sub(target, text)


def read(app: Any, docname: str, source: list[str]) -> None:
    """Put the text of a file into its page, and the summary and picture into an example's."""
    files = {page: file for file, page in SHOWN.items()}
    if docname in files:
        path = ROOT / files[docname]
        app.env.note_dependency(str(path))
        source[0] = rewritten(path.read_text(), "")
    # A doctest ends with an empty line, which need not be seen.
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)
    if docname in ("ARCHITECTURE", "promises"):
        source[0] = rewritten(source[0], "docs")
    elif docname.startswith("gallery/"):
        source[0] = example(docname.removeprefix("gallery/"), source[0])


def example(name: str, text: str) -> str:
    """Add to the page of an example what came of it, and its picture if it was not run here."""
    summary = gallery.summaries().get(name)
    if summary is None:
        return text
    lines = [".. admonition:: What came of it", "", f"   {' '.join(summary.split())}", ""]
    if name not in gallery.RUN:
        lines += [
            f".. image:: /../examples/{name}.png",
            "   :alt: the picture that the script draws",
            "",
            "Not run for this page, since it needs data that is not bundled or more time: the",
            "picture is the one kept beside the script.",
            "",
        ]
    code = text.index(".. GENERATED FROM PYTHON SOURCE LINES")
    return text[:code] + "\n".join(lines) + "\n" + text[code:]


def setup(app: Any) -> dict[str, bool]:
    """Register."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}

"""Follow every link inside the built site, to files and to places in them.

python docs/links.py target/site. What is on other hosts needs a network and is not followed.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages of rustdoc link among themselves, and rustdoc checks that. Static files include templates.
SKIPPED = ("rust", "_static")


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a tag points, and what it is called."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def broken(site: Path) -> Iterator[str]:
    """Name every link that leads nowhere."""
    files = [
        path for path in site.rglob("*.html") if path.relative_to(site).parts[0] not in SKIPPED
    ]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            where = f"{path.relative_to(site)}: {link}"
            if not target.is_file():
                yield f"{where}: no such file"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors | {""}:
                yield f"{where}: no such place"


def main(arguments: list[str]) -> int:
    """Print what is broken; the exit status says whether anything is."""
    site = Path(arguments[0]).resolve()
    found = list(broken(site))
    print("\n".join(found) or f"every link inside {arguments[0]} leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The gallery: examples are run as a user runs them, and the picture they save is shown.

An example saves its picture to the file that the command line names. So every script is given such
a name, and a scraper takes what it finds there. Examples that need data which is not bundled are
not run: their pages show the picture that is kept beside the script.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(tempfile.gettempdir()) / "mercer-gallery"

# In the order of their pages. These need no other data, and little time.
RUN = (
    "checkerboard",
    "spirals_parity",
    "rbf_centres",
    "sonar",
    "ionosphere",
    "nu",
    "components",
    "sources",
    "reject",
    "eta",
    "epochs",
)


def saved_picture(script: str) -> Path:
    """Return where the example is told to save its picture."""
    return PICTURE / Path(script).with_suffix(".png").name


class Arguments:
    """The command line of an example."""

    def __call__(self, gallery_conf: dict[str, Any], script_vars: dict[str, Any]) -> list[str]:
        """Name the picture."""
        PICTURE.mkdir(exist_ok=True)
        return [str(saved_picture(script_vars["src_file"]))]

    def __repr__(self) -> str:  # compared by Sphinx to see whether options have changed
        return "Arguments"


def scrape(
    block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]
) -> str:
    """Show the picture that an example has saved."""
    from sphinx_gallery.scrapers import figure_rst

    picture = saved_picture(block_vars["src_file"])
    if not picture.is_file():
        return ""
    shown = next(block_vars["image_path_iterator"])
    shutil.move(picture, shown)
    return figure_rst([shown], gallery_conf["src_dir"])


def first_cell() -> str:
    """Return the beginning of every notebook: what the examples share, written beside it."""
    return "%%writefile _gallery.py\n" + (ROOT / "examples" / "_gallery.py").read_text()


def drop_first_cell(app: Any) -> None:
    """Take that cell out of the tutorial, which has no use for it."""
    path = Path(app.srcdir) / "learn" / "tutorial.ipynb"
    if path.is_file():
        notebook = json.loads(path.read_text())
        first = "".join(notebook["cells"][0]["source"])
        if first.startswith("%%writefile"):
            del notebook["cells"][0]
            path.write_text(json.dumps(notebook, indent=2) + "\n")


def setup(app: Any) -> dict[str, bool]:
    """Register, after sphinx-gallery has written its notebooks."""
    app.connect("builder-inited", drop_first_cell, priority=900)
    return {"parallel_read_safe": True}


def summaries() -> dict[str, str]:
    """Return what the page of the gallery in the repository says of each example."""
    page = (ROOT / "examples" / "README.md").read_text()
    parts = re.findall(
        r"^## \[[^\]\n]+\]\((\w+)\.py\)\n\n(.+?)\n\n!\[", page, re.MULTILINE | re.DOTALL
    )
    return dict(parts)


def order(script: str) -> tuple[bool, int]:
    """Sort the examples: those that were run first, else as in the page of the repository."""
    name = Path(script).stem
    names = list(summaries())
    return name not in RUN, names.index(name) if name in names else len(names)


def options(here: Path) -> dict[str, Any]:
    """Return the configuration of sphinx-gallery."""
    return {
        "examples_dirs": [str(ROOT / "examples"), str(here / "tutorial")],
        "gallery_dirs": ["gallery", "learn"],
        "filename_pattern": rf"/({'|'.join(RUN)}|tutorial)\.py$",
        "ignore_pattern": r"(^|/)_",
        "within_subsection_order": order,
        "image_scrapers": (scrape, "matplotlib"),
        "reset_argv": Arguments(),
        "first_notebook_cell": first_cell(),
        "remove_config_comments": True,
        "min_reported_time": 0,
        "write_computation_times": False,  # its page loads scripts from elsewhere
        "show_memory": False,
        "download_all_examples": False,
        "capture_repr": (),
        "plot_gallery": True,
        "abort_on_example_error": True,
    }

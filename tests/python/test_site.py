"""The site and the README: code that runs, links that lead somewhere, figures as measured."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import mercer

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tutorial_runs(tmp_path):
    command = [sys.executable, "-W", "error", DOCS / "tutorial" / "tutorial.py"]
    environment = {"MPLBACKEND": "agg", "MPLCONFIGDIR": str(tmp_path), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    # A backend without a window says so when it is to show one.
    complaints = [line for line in done.stderr.splitlines() if "non-interactive" not in line]
    assert done.returncode == 0, complaints
    assert "converged with a duality gap of" in done.stdout


def test_the_readme_is_short_and_its_figures_are_the_measured_ones(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    assert len(README.splitlines()) < 150
    assert _module(DOCS / "readme.py").filled(README) == README


def test_links_of_the_readme_work_on_a_package_index():
    address = re.findall(r'^repository = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[
        0
    ]
    owner, name = address.removeprefix("https://github.com/").split("/")
    site, raw = f"https://{owner}.github.io/{name}/", f"https://raw.githubusercontent.com/{owner}/"
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 10
    for link in links:
        assert link.startswith((address, site, raw)), link
        path = link.removeprefix(f"{address}/blob/main/").removeprefix(f"{raw}{name}/main/")
        if link.startswith(site):
            page = link.removeprefix(site).partition("#")[0].removesuffix(".html")
            made = ("gallery/index", "reference/index", "learn/tutorial")
            assert page in made or (DOCS / f"{page}.md").is_file(), link
        else:
            assert (ROOT / path).exists(), link


def test_versions_agree():
    citation = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation == [mercer.__version__]


def test_every_page_of_the_guide_has_code_that_is_tested():
    pages = [path for path in (DOCS / "guide").glob("*.md") if path.stem != "index"]
    assert len(pages) >= 12
    assert all(">>> " in path.read_text() for path in pages)


def test_links_that_lead_nowhere_are_noticed(tmp_path):
    (tmp_path / "a.html").write_text('<a id="here" href="b.html#there">b</a><a href="c.html">c</a>')
    (tmp_path / "b.html").write_text('<a href="a.html#here">a</a><a href="https://b.org/">x</a>')
    found = list(_module(DOCS / "links.py").broken(tmp_path))
    assert found == ["a.html: b.html#there: no such place", "a.html: c.html: no such file"]


def test_examples_have_the_titles_of_their_page():
    """Sphinx-gallery takes titles from docstrings, and thumbnails of what it does not run."""
    page = (ROOT / "examples" / "README.md").read_text()
    run = re.findall(r'^    "(\w+)",$', (DOCS / "_ext" / "gallery.py").read_text(), re.MULTILINE)
    for title, name in re.findall(r"^## \[(.+)\]\((\w+)\.py\)$", page, re.MULTILINE):
        text = (ROOT / "examples" / f"{name}.py").read_text()
        assert text.startswith(f'"""{title}\n{"=" * len(title)}\n\n'), name
        thumbnail = f"# sphinx_gallery_thumbnail_path = '../examples/{name}.png'"
        assert (name in run) != (thumbnail in text), name

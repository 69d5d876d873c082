"""Look for misspelt words in the text of the site: python docs/spelling.py.

Two programs look: codespell at everything, for mistakes that are often made, and hunspell at the
prose of the pages, for words that are in no British dictionary and not in docs/words.txt. Without
hunspell and its dictionary en_GB there is a note, and only the first look.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORDS = HERE / "words.txt"
EVERYTHING = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
EVERYTHING += ["docs", "examples", "python", "src", "tests", "benches"]
SKIPPED = "*.json,*.svg,*.png,*.npz,*.so,*.qps,*.ipynb,docs/gallery,docs/learn,docs/reference"
# Names, and the words of other languages in tests.
ALLOWED = "abd,ans,ba,coo,fo,nd,ot,statics,te"

_NO_PROSE = (
    r"^```.*?^```",  # code
    r"^---\n.*?^---$",  # front matter
    r"<!--.*?-->|<[^>\n]+>",  # HTML
    r"`[^`\n]*`",  # names
    r"\$[^$\n]*\$",  # formulas
    r"\{[\w:]+\}|\{\{.*?\}\}",  # roles and substitutions
    r"\]\([^)]*\)",  # where links lead
    r"https?://\S+",
    r"\b\w*[a-z][A-Z]\w*\b",  # names of classes
    r"\b[\w.]*[_\d/.][\w./]*\b",  # what has digits, dots or underscores is no word
)


def prose(path: Path) -> str:
    """Return the words of a page without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":  # the tutorial: text is in comments
        text = "\n".join(re.findall(r"^# ?(.*)$", text, re.MULTILINE))
        text = re.sub(r":\w+:`[^`]*`|^ {3}.*$", " ", text, flags=re.MULTILINE)
    for pattern in _NO_PROSE:
        text = re.sub(pattern, " ", text, flags=re.MULTILINE | re.DOTALL)
    return text


def unknown(path: Path) -> list[str]:
    """Return the words that hunspell does not know."""
    command = ["hunspell", "-d", "en_GB", "-p", str(WORDS), "-l"]
    done = subprocess.run(command, input=prose(path), capture_output=True, text=True, check=True)
    return sorted(set(done.stdout.split()))


def main() -> int:
    """Print what was found; the exit status says whether anything was."""
    command = [sys.executable, "-m", "codespell_lib", "--skip", SKIPPED, "-L", ALLOWED, *EVERYTHING]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    dictionaries = ""
    if shutil.which("hunspell"):
        listed = subprocess.run(
            ["hunspell", "-D"], capture_output=True, text=True, input="", check=False
        )
        dictionaries = listed.stdout + listed.stderr
    if "en_GB" not in dictionaries:
        print("without hunspell and its dictionary en_GB only frequent mistakes are found")
        return status
    pages = [ROOT / name for name in EVERYTHING if name.endswith(".md")]
    pages += [*HERE.glob("*.md"), *HERE.glob("guide/*.md"), *HERE.glob("coming_from/*.md")]
    for page in [*pages, HERE / "tutorial" / "tutorial.py", ROOT / "examples" / "README.md"]:
        words = unknown(page)
        if words:
            status = 1
            print(f"{page.relative_to(ROOT)}: {' '.join(words)}")
    return status


if __name__ == "__main__":
    sys.exit(main())

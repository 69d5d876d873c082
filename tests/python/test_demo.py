"""The demonstration and its progress bar."""

import io
import subprocess
import sys

import pytest

from mercer.__main__ import main
from mercer._progress import Progress


def test_table_of_one_set(capsys):
    assert main(["--no-plot", "--data", "sonar", "ionosphere"]) == 0
    lines = capsys.readouterr().out.splitlines()
    header, *rows = lines[1:4]
    assert header.split()[:4] == ["data", "n", "d", "classes"]
    assert [row.split()[:4] for row in rows] == [
        ["sonar", "208", "60", "2"],
        ["ionosphere", "351", "34", "2"],
    ]
    assert len({len(row) for row in (header, *rows)}) == 1
    for row in rows:
        score, support, gap, _seconds, peer_score, peer_support, _peer_seconds = map(
            float, row.split()[4:]
        )
        assert gap <= 1e-3
        # The same problem, solved twice to the same tolerance.
        assert score == pytest.approx(peer_score, abs=0.01)
        assert support == pytest.approx(peer_support, rel=0.05)


def test_picture(tmp_path, capsys):
    picture = tmp_path / "board.png"
    assert main(["--output", str(picture), "--data", "sonar"]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert str(picture) in out
    assert "checkerboard, 2000 points: 99.9% right" in out


def test_without_matplotlib_there_is_still_a_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    picture = tmp_path / "board.png"
    assert main(["--output", str(picture), "--data", "sonar"]) == 0
    out = capsys.readouterr().out
    assert "sonar" in out
    assert "pip install mercer[demo]" in out
    assert not picture.exists()


def test_runs_as_a_module(tmp_path):
    command = [sys.executable, "-m", "mercer", "--no-plot", "--data", "sonar"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "sonar" in done.stdout
    assert not list(tmp_path.iterdir())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_on_a_terminal_is_drawn_in_place_and_wiped():
    stream = Terminal()
    with Progress(4, stream=stream, patience=0.0) as progress:
        progress.step("a long message")
        progress.step("short")
    frames = stream.getvalue().split("\r")
    assert "\n" not in stream.getvalue()
    assert frames[1] == "[######..................] 1/4 a long message"
    # Padded, so that nothing of the longer line stays.
    assert frames[2] == "[############............] 2/4 short".ljust(len(frames[1]))
    assert frames[3].strip() == ""
    assert len(frames[3]) == len(frames[2])


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_short_work_shows_no_bar(kind):
    stream = kind()
    with Progress(1, stream=stream, patience=1000.0) as progress:
        progress.step("done at once")
    assert stream.getvalue() == ""


def test_plain_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Progress(2, stream=stream, patience=0.0) as progress:
        progress.step("one")
        progress.step("two")
    assert stream.getvalue() == "[1/2] one\n[2/2] two\n"

"""What the command line refuses, and that it leaves no file that is half there or that somebody wanted to keep."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from helpers.commands import Text

from smemviz import paths as resources
from smemviz.figures.registry import EXPORTED, FIGURES
from smemviz.paths import installing
from smemviz.reports import files

Export = Callable[..., Text]


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in EXPORTED])
def test_a_figure_of_the_page_alone_is_not_offered(export, square_file, tmp_path, name):
    assert "choose from" in export(square_file, "--figure", name, "-o", tmp_path / "a.html", code=2).err


def test_the_list_of_figures_loads_no_library_for_drawing():
    looks = "import sys, smemviz.figures.registry; sys.exit('plotly' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", looks], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "a.txt"), "a.txt: exports end in .svg, .pdf, .png, .gif, .html, .csv, .parquet, .json"),
        (("-o", "a.svg"), "an image is of one figure; name it with --figure tile|banks|"),
        (("--figure", "tile", "-o", "a.csv"), "a figure ends in .svg, .pdf, .png or .html"),
        (
            ("--figure", "tile", "-o", "a.gif"),
            "a.gif: a .gif is of the figure stage, which moves; name it with --figure",
        ),
        (("--figure", "stage", "--view", "page", "-o", "a.gif"), "--view does not apply to the figure stage"),
        (
            ("--figure", "stage", "--kernel", "set_row_read_row", "-o", "a.html"),
            "no figure stage: No other layout was found that saves wavefronts.",
        ),
        (("--figure", "stage", "--width", "9", "-o", "a.gif"), "--width does not apply to .gif"),
        (("--rows", "sites", "-o", "a.html"), "--rows does not apply to .html"),
        (("--block", "0", "-o", "a.csv"), "--block does not apply to .csv"),
        (("--dpi", "300", "--figure", "tile", "-o", "a.html"), "--dpi does not apply to .html"),
        (("--warp", "1", "--figure", "compare", "-o", "a.html"), "--warp does not apply to the figure compare"),
        (("--figure", "tile", "--view", "times", "-o", "a.html"), "the figure tile has declared, physical"),
        (("--figure", "tile", "--array", "b", "-o", "a.html"), "has no shared array 'b'; it has tile"),
        (("--figure", "banks", "--site", "1", "-o", "a.html"), "no access begins at 1; accesses are in lines 25, 27"),
        (("-o", "nowhere/a.csv"), "there is no folder nowhere; nothing was written"),
        (("-o", "."), "exports end in"),
        (("-o", "a" * 300 + ".csv"), "cannot be written: File name too long"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_and_nothing_is_written(
    export, square_file, tmp_path, monkeypatch, options, said
):
    monkeypatch.chdir(tmp_path)
    error = export(square_file, *options, code=2).err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["--width 1", "--font-size x", "--site a", "--step -1", "--banks 0", "--cc 1"])
def test_a_value_that_makes_no_sense_is_refused(export, square_file, value):
    export(square_file, "--figure", "tile", "-o", "a.html", *value.split(), code=2)


def test_a_file_that_is_there_is_kept_unless_told_otherwise(export, square_file, tmp_path):
    out = tmp_path / "sites.csv"
    out.write_text("mine")
    err = export(square_file, "-o", out, "--rows", "sites", code=2).err
    assert err == f"smemviz: {out}: is there already; --force overwrites it\n"
    assert out.read_text() == "mine"
    export(square_file, "-o", out, "--rows", "sites", "--force")
    assert out.read_text().startswith("launch,kernel,")


def test_an_export_that_fails_midway_leaves_the_file_as_it_was(export, square_file, tmp_path, monkeypatch):
    def fail(path, *_):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write_csv", fail)
    out = tmp_path / "a.csv"
    out.write_text("mine")
    export(square_file, "-o", out, "--force", code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert out.read_text() == "mine"


def test_a_kernel_file_is_run_first(export, tmp_path):
    out = tmp_path / "sites.csv"
    kernels = resources.kernels_dir() / "square.py"
    said = export(kernels, "--set", "IPAD=0", "--engine", "lockstep", "--rows", "sites", "-o", out).out
    assert said == f"{out}: {out.stat().st_size:,} bytes\n"
    padded = [line for line in out.read_text().splitlines() if "set_row_read_col_pad" in line]
    assert any(",1024,32,992,32," in line for line in padded)  # without its pad it conflicts


@pytest.mark.parametrize("missing", ["kaleido", "browser"])
def test_an_image_without_a_browser_says_what_to_install(export, square_file, tmp_path, monkeypatch, missing):
    if missing == "kaleido":
        monkeypatch.setattr("smemviz.reports.images.find_spec", lambda name: None)
        said = f"images need kaleido: {installing('export')}; an .html figure needs nothing"
    else:
        monkeypatch.setattr("choreographer.browsers.chromium.Chromium.find_browser", lambda **_: None)
        said = "images need Chrome or Chromium: install it, or run kaleido_get_chrome; an .html figure needs none"
    assert export(square_file, "--figure", "tile", "-o", tmp_path / "a.png", code=3).err == f"smemviz: {said}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.exhaustive
def test_a_browser_that_does_not_start_is_told_in_one_line(square_file, tmp_path):
    fake = tmp_path / "browser"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    code = (
        "import os, sys; os.environ['BROWSER_PATH'] = sys.argv[1]\n"
        "from choreographer.browsers.chromium import Chromium\n"
        "Chromium.find_browser = classmethod(lambda cls, **_: sys.argv[1])\n"
        "from smemviz.cli import main as cli\n"
        "sys.exit(cli.main(['export', sys.argv[2], '--figure', 'tile', '-o', sys.argv[3]]))"
    )
    out = tmp_path / "a.svg"
    done = subprocess.run([sys.executable, "-c", code, fake, square_file, out], capture_output=True, text=True)
    assert done.returncode == 3
    assert f"smemviz: images need Chrome or Chromium: {fake} does not answer" in done.stderr
    assert not out.exists()

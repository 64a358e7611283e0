"""The documentation: commands and code run, links lead somewhere, and what comes from the code is current."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

from smemviz.cli import main as cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What opens a browser or needs the network, and is only looked at.
READ = re.compile(r"smemviz( [^-]\S*\.(py|cu|npz))*$|smemviz --host|pip install|mkdocs")


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(page.read_text("utf-8")) if name == language]


def prose(page: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text("utf-8")))


def commands(text: str) -> list[str]:
    return [line.partition("  #")[0].strip() for line in text.splitlines() if line and not line.startswith(("#", "//"))]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the gallery in it, as a reader stands in."""
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("recordings"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_they_say(
    page: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = 0
    for block in blocks(page, "sh"):
        for command in commands(block):
            if block.startswith("# needs a GPU"):
                parse(command)
            elif not READ.match(command):
                program, *arguments = shlex.split(command)
                assert program == "smemviz", command
                assert cli.main(arguments) == 0, f"{command}\n{capsys.readouterr().err}"
                ran += 1
            capsys.readouterr()
    assert ran or page.name in ("measure.md",)


@pytest.mark.parametrize("name", NAMES)
def test_command_lines_that_are_shown_are_taken(name: str) -> None:
    for block in blocks(ROOT / name, "text"):
        for command in commands(block):
            if command.startswith("smemviz ") and not READ.match(command) and not name.startswith("docs/reference"):
                parse(command)


def parse(command: str) -> None:
    """Read a command line as its verb does; argparse exits with 2 where it cannot."""
    _program, *arguments = shlex.split(command)
    verb = arguments.pop(0) if arguments[0] in cli.VERBS else None
    parser = cli._parser(verb, import_module(f"smemviz.cli.verbs.{verb or 'dashboard'}"))
    parser.parse_args(arguments[: arguments.index("--")] if "--" in arguments else arguments)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, block in enumerate(blocks(page, "python")):
        if "def test_" in block:  # tests/plugin runs it with pytest
            compile(block, str(page), "exec")
            continue
        file = checkout / f"block_{number}.py"
        file.write_text(block, encoding="utf-8")
        runpy.run_path(str(file))
    capsys.readouterr()


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file_and_its_heading(name: str) -> None:
    page = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        assert "://" not in target, f"{name}: {target} is not checked"
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.is_file(), f"{name}: {target}"
        if name.startswith("docs/"):
            assert DOCS in to.parents, f"{name}: {target} is not part of the site"
        if anchor:
            assert anchor in {slug(one) for one in re.findall(r"^#+ (.+)$", to.read_text("utf-8"), re.MULTILINE)}, (
                target
            )


def slug(heading: str) -> str:
    return re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")


def test_every_page_has_its_place_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("nav:")[2]
    named = re.findall(r"- ([\w/-]+\.md)$", nav, re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_every_page_has_one_title_and_closed_blocks() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text.count("```") % 2 == 0, page
        assert len(re.findall(r"^# ", BLOCK.sub("", text), re.MULTILINE)) == 1, page


def test_pages_that_come_from_the_code_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    pages = import_module("docs").written()
    sys.modules.pop("docs")
    old = [name for name, text in pages.items() if (DOCS / name).read_text("utf-8") != text]
    assert old == [], "python tools/docs.py writes them"


def test_the_times_of_the_transpose_are_those_of_the_recording() -> None:
    import smemviz

    recording = smemviz.load(ROOT / "kernels" / "recordings" / "h200" / "transpose.smem.npz")
    moved = 64 * 96 * 4 * 2  # read once and written once
    page = (DOCS / "tutorials" / "transpose.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,-]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert [kernel for kernel, *_ in rows] == [launch.kernel for launch in recording.launches]
    for kernel, sectors, wavefronts, time, bandwidth in rows:
        launch = recording[kernel]
        assert launch.time is not None
        counted = list(zip(launch.sites, launch.summary(), strict=True))
        shared = sum(row.wavefronts or 0 for site, row in counted if site.space == "shared")
        assert sectors == f"{sum(row.sectors or 0 for _site, row in counted):,}"
        assert wavefronts == (f"{shared:,}" if shared else "-")
        assert (time, bandwidth) == (f"{launch.time.median_us:.2f}", f"{moved / launch.time.median_us / 1e3:.1f}")


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")
@pytest.mark.parametrize(("pad", "wavefronts"), [(0, "65,536"), (1, "2,048")])
def test_the_program_of_the_first_cu_file_counts_as_its_page_says(tmp_path: Path, pad: int, wavefronts: str) -> None:
    import smemviz

    page = (DOCS / "tutorials" / "cuda-cpp.md").read_text("utf-8")
    (program,) = blocks(DOCS / "tutorials" / "cuda-cpp.md", "cpp")
    path = tmp_path / "transpose.cu"
    path.write_text(program, encoding="utf-8")
    recording = smemviz.run(path, {"PAD": pad})
    assert recording.printed == "0 wrong\n"
    launch = recording["transpose"]
    counted = {site.source: (site.line, row) for site, row in zip(launch.sites, launch.summary(), strict=True)}
    line, row = counted["tile[threadIdx.x][threadIdx.y]"]
    assert (line, f"{row.wavefronts:,}") == (12, wavefronts)
    assert f"line {line} takes 65,536" in " ".join(page.split())

"""README and documentation: commands and code run, links lead somewhere, pictures and figures are the product's."""

import json
import re
import runpy
import shlex
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest
from helpers.tiers import but

import smemviz
from smemviz.cli import main as cli
from smemviz.engines.lockstep.coverage import ptx_rows, python_rows
from smemviz.recordings.findings import KINDS
from smemviz.reports.recording import facts

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Of those that run commands, these take longest.
LONG = [page for page in PAGES if page.stem in ("figures", "large-launches", "record", "cu-program", "cpp-project")]
# What opens a browser or needs the network, and is only looked at.
READ = re.compile(r"smemviz( [^-]\S*\.(py|cu|npz))*$|smemviz --host|pip install|mkdocs")


def blocks(page, language):
    return [text for name, file, text in BLOCK.findall(page.read_text("utf-8")) if name == language and not file]


def save_files(page, folder):
    """Write the files that a page shows, those whose block has a title."""
    for _language, file, text in BLOCK.findall(page.read_text("utf-8")):
        if file:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")


def prose(page):
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", page.read_text("utf-8")))


def commands(text):
    return [line.partition("  #")[0].strip() for line in text.splitlines() if line and not line.startswith(("#", "//"))]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with the gallery in it, as a reader stands in."""
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("recordings"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", but(LONG, [page for page in PAGES if blocks(page, "sh")]), ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_they_say(page, checkout, capsys):
    ran = 0
    save_files(page, checkout)
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


def test_command_lines_that_are_shown_are_taken():
    for name in NAMES:
        for block in blocks(ROOT / name, "text"):
            for command in commands(block):
                command = command.removeprefix("!")  # as a cell of a notebook has it
                if command.startswith("smemviz ") and not READ.match(command) and not name.startswith("docs/reference"):
                    parse(command)


def parse(command):
    """Read a command line as its verb does; argparse exits with 2 where it cannot."""
    _program, *arguments = shlex.split(command)
    verb = arguments.pop(0) if arguments[0] in cli.VERBS else None
    parser = cli._parser(verb, import_module(f"smemviz.cli.verbs.{verb or 'dashboard'}"))
    parser.parse_args(arguments[: arguments.index("--")] if "--" in arguments else arguments)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, checkout, capsys):
    for number, block in enumerate(blocks(page, "python")):
        if "def test_" in block:  # tests/plugin runs it with pytest
            compile(block, str(page), "exec")
            continue
        file = checkout / f"block_{number}.py"
        file.write_text(block, encoding="utf-8")
        runpy.run_path(str(file))
    capsys.readouterr()


def test_every_link_leads_to_a_file_and_its_heading():
    for name in NAMES:
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


def slug(heading):
    return re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")


def test_every_page_has_its_place_in_the_site():
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("nav:")[2]
    named = re.findall(r"- ([\w/-]+\.md)$", nav, re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_every_page_has_one_title_and_closed_blocks():
    for page in PAGES:
        text = page.read_text("utf-8")
        assert text.count("```") % 2 == 0, page
        assert len(re.findall(r"^# ", BLOCK.sub("", text), re.MULTILINE)) == 1, page


def test_pages_that_come_from_the_code_are_current(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    pages = import_module("docs").written()
    sys.modules.pop("docs")
    old = [name for name, text in pages.items() if (DOCS / name).read_text("utf-8") != text]
    assert old == [], "python tools/docs.py writes them"


def test_the_times_of_the_transpose_are_those_of_the_recording():
    import smemviz

    recording = smemviz.load(ROOT / "kernels" / "recordings" / "h200" / "transpose.smem.npz")
    moved = 64 * 96 * 4 * 2  # read once and written once
    page = (DOCS / "tutorials" / "transpose.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,-]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert [kernel for kernel, *_ in rows] == [launch.kernel for launch in recording.launches]
    for kernel, sectors, wavefronts, time, bandwidth in rows:
        launch = recording[kernel]
        counted = list(zip(launch.sites, launch.summary(), strict=True))
        shared = sum(row.wavefronts or 0 for site, row in counted if site.space == "shared")
        assert sectors == f"{sum(row.sectors or 0 for _site, row in counted):,}"
        assert wavefronts == (f"{shared:,}" if shared else "-")
        assert (time, bandwidth) == (f"{launch.time.median_us:.2f}", f"{moved / launch.time.median_us / 1e3:.1f}")


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")
@pytest.mark.parametrize(("pad", "wavefronts"), [(0, "65,536"), pytest.param(1, "2,048", marks=pytest.mark.exhaustive)])
def test_the_program_of_the_first_cu_file_counts_as_its_page_says(tmp_path, pad, wavefronts):
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


RECORDINGS = ROOT / "kernels" / "recordings" / "h200"
README = (ROOT / "README.md").read_text("utf-8")
PROSE = " ".join(" ".join(page.read_text("utf-8").split()) for page in PAGES)
SHOWN = re.compile(r"!?\[([^\]]*)\]\((\S+\.(?:png|svg|gif))\)")
PICTURES = [(words, page.parent / path) for page in PAGES for words, path in SHOWN.findall(page.read_text("utf-8"))]


def test_the_tree_that_newcomers_read_is_the_one_there_is():
    tree = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Where things are")[1].split("```")[1]
    named: set[Path] = set()
    above: list[str] = []
    for line in tree.strip().splitlines():
        above[(len(line) - len(line.lstrip())) // 2 :] = [line.split()[0]]
        named.add(ROOT.joinpath(*above))
    assert [path for path in named if not path.exists()] == []
    folders = {path.parent for path in named if path.parent in named}
    packages = {file.parent for folder in folders for file in folder.glob("*/__init__.py")}
    assert packages - named == set()


def test_every_picture_is_there_and_is_described():
    assert len(PICTURES) >= 8
    for words, path in PICTURES:
        assert path.stat().st_size > 10_000, path
        assert len(words.split()) >= 4 or words in ("Korean", "Simplified Chinese"), path


def test_the_readme_is_a_door_and_not_a_manual():
    assert README.count("\n") <= 120
    assert len(SHOWN.findall(README)) >= 3
    for word in ("bank conflict", "Nsight Compute", "people who learn CUDA, teach it, or write kernels"):
        assert word in README.partition("## Install")[0]


def test_every_picture_is_one_that_the_script_makes():
    script = (ROOT / "tools" / "pictures.py").read_text("utf-8")
    made = {f"{name}.png" for name in re.findall(r'Shot\(\s*"(\w+)"', script)}
    made |= set(re.findall(r'^    "(\w+\.\w+)": \(', script, re.MULTILINE))
    assert {path.name for _, path in PICTURES} == made
    assert {path.name for path in (ROOT / "docs" / "pictures").iterdir()} == made


def test_the_json_is_what_run_prints():
    printed = json.loads(
        re.findall(r"```json\n(.*?)```", (ROOT / "docs" / "reference" / "json.md").read_text("utf-8"), flags=re.S)[0]
    )
    real = json.loads(json.dumps(facts(smemviz.run(ROOT / "kernels" / "square.py", engine="lockstep"))))
    (launch,) = printed["launches"]
    real["launches"] = [real["launches"][0] | {"sites": real["launches"][0]["sites"][: len(launch["sites"])]}]
    volatile = {"date": printed["date"], "file": printed["file"]}
    real["launches"][0]["file"] = printed["file"]
    assert printed == real | volatile
    assert list(launch["sites"][0]) == list(real["launches"][0]["sites"][0])


def test_the_kinds_of_findings_are_those_of_the_program():
    page = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (yes|no) \|$", page, re.MULTILINE)
    assert rows == [(name, "no" if kind.severity == "harmless" else "yes") for name, kind in KINDS.items()]


def test_every_name_that_lockstep_executes_is_on_its_page():
    page = (ROOT / "docs" / "reference" / "features.md").read_text("utf-8")
    shown: set[str] = set()
    for prefix, names in re.findall(r"^(?:All begin with `(.+)`\.\n\n)?((?:\|.*\n)+|`.*\n)", page, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names):
            stem, endings = re.fullmatch(r"([^{\[]*)(?:\{(.+)\}|\[(f)\])?", name).groups()[:2]  # type: ignore[union-attr]
            several = endings.split(",") if endings else ["", "f"] if name.endswith("[f]") else [""]
            shown |= {f"{prefix}{stem}{ending}" for ending in several}
    rows = [row for row in (*python_rows(), *ptx_rows()) if row.executed and not row.otherwise]
    assert {row.feature for row in rows if row.group != "language"} - shown == set()
    assert all(f"- {row.feature}\n" in page for row in rows if row.group == "language")


def test_the_glossary_has_the_same_words_in_each_language():
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text("utf-8")
    _, english, *others = page.split("\n## ")
    words = re.findall(r"^\| (?!word|---)(.+?) \|", english, re.MULTILINE)
    assert len(words) >= 20
    for language in others:
        assert re.findall(r"^\| (?!用|용|词|---).+? \| (.+?) \| .+[.。다] ?\|$", language, re.MULTILINE) == words


def test_times_are_those_of_the_recording():
    recording = smemviz.load(RECORDINGS / "square.smem.npz")
    kernels = ("set_row_read_row", "set_col_read_col", "set_row_read_col_pad")
    row, column, padded = (f"{time.median_us:.3f}" for time in (recording[kernel].time for kernel in kernels) if time)
    assert f"has row by row {row}, column by column {column}, padded {padded} us" in PROSE


def test_what_the_gpu_ran_is_all_of_the_gallery_but_the_mistakes():
    kernels = {path.stem for path in (ROOT / "kernels").glob("*.py")}
    recorded = {path.name.partition(".")[0] for path in RECORDINGS.glob("*.smem.npz")}
    assert kernels - recorded == {"mistakes"}
    assert all(
        launch.hardware for name in recorded for launch in smemviz.load(RECORDINGS / f"{name}.smem.npz").launches
    )
    assert (
        "Every access of the gallery was checked against Nsight Compute's counters on the H200, but for `mistakes.py`"
        in PROSE
    )
    assert "every kernel that the H200 ran, all of the gallery but `mistakes.py`" in PROSE


@pytest.mark.exhaustive
def test_the_requests_of_a_tiled_product_are_counted_with_the_tile_that_is_named():
    (size, tile, millions) = re.findall(
        r"product of (\d+) x \1 with tiles of (\d+) and its ([\d.]+) million requests", PROSE
    )[0]

    def requests(n, side):
        """Of a warp: for each tile two loads, two stores, two loads for each of its steps; at the end a store."""
        return (n // side) ** 2 * (side * side // 32) * (n // side * (4 + 2 * side) + 1)

    constants = {"M": 64, "K": 64, "N": 64, "TILE": int(tile)}
    small = smemviz.run(ROOT / "kernels" / "matmul.py", constants=constants, engine="lockstep", kernels=["tiled"])
    assert small.launches[0].request_count == requests(64, int(tile))
    assert f"{requests(int(size), int(tile)) / 1e6:.1f}" == millions

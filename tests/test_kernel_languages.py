"""A language is an entry and its modules: one made up here is run, explained, suggested for and shown on a page."""

import ast
import inspect
import subprocess
import sys
import types
from dataclasses import dataclass, replace

import pytest

from smemviz import languages
from smemviz.app.library import Library
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.engines import run
from smemviz.engines.backend import Runner, recording_of
from smemviz.errors import InputError
from smemviz.frontends.program import Constant, Program
from smemviz.frontends.reading import Frontend, parse_program
from smemviz.languages import LANGUAGES, Language, Spelling
from smemviz.measure.meters import meter_of
from smemviz.model.hardware.hardware import H200
from smemviz.suggest.answering import answer
from smemviz.suggest.rewrites import LayoutWriter

TOY = Language(
    title="Toy",
    lexer="text",
    suffixes=(".toy",),
    spelling=Spelling("sync!", "sync warp!", "sync", "add!", "fence!", "div", ":"),
    frontend="toy_frontend",
    runner="toy_runner",
)
TEXT = "pitch 32\ncolumn\n"
# What the toy becomes: a tile whose columns are stored, in as many columns as it says.
PYTHON_OF = """
import numpy as np
from numba import cuda, float32

@cuda.jit
def column(out):
    tile = cuda.shared.array((32, {pitch}), float32)
    tile[cuda.threadIdx.x, 0] = 1
    cuda.syncthreads()
    out[cuda.threadIdx.x] = tile[cuda.threadIdx.x, 0]

def main():
    column[1, 32](np.zeros(32, np.float32))
"""


@dataclass(frozen=True)
class ToyProgram(Program):
    """``pitch 32`` and ``column``."""

    language = TOY
    summary = "A toy"
    has_main = True

    def _constants(self, overrides):
        return _constants(self.source, overrides)

    @property
    def texts(self):
        return [], {"column": self.source}

    def heads(self):
        return {"column": (2, ())}

    def helper_hashes(self):
        return ()


def _constants(source, overrides):
    own = int(source.split()[1])
    return {"PITCH": Constant("PITCH", overrides.get("PITCH", own), "int", 1, str(own))}


def _run_in_lockstep(program, options, after=None):
    from smemviz.engines import lockstep

    python = PYTHON_OF.format(pitch=program.constants["PITCH"].value)
    (launch,), findings = lockstep.run(parse_program(python, "toy.py"), options)
    place = {"file": "", "column": 0, "end_column": 4}
    sites = (replace(site, **place, line=2 - site.is_shared, end_line=2 - site.is_shared) for site in launch.sites)
    return (replace(launch, file="", line=2, sites=tuple(sites)),), findings


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Register the toy; return a file of it."""
    frontend, runner = types.ModuleType("toy_frontend"), types.ModuleType("toy_runner")
    frontend.__dict__.update(
        parse=lambda source, file: ToyProgram(file, source, _constants(source, {}), {"column": None}),
        code_in=lambda text, path: text,
        most_bytes=lambda path, usual: usual,
        is_available=lambda: True,
        check_runnable=lambda program: None,
        functions=lambda source: (("column", 1, 2),),
        constants_read=lambda program, kernel: frozenset({"PITCH"}),
        code_reads=lambda program, kernel: frozenset({"PITCH"}),
        loaded_sites=lambda recording, launch: None,
    )
    runner.__dict__.update(
        run_in_lockstep=_run_in_lockstep,
        record=lambda program, engine, options, arguments, may_be_script: recording_of(
            program, "lockstep", options, *_run_in_lockstep(program, options)
        ),
    )
    monkeypatch.setitem(sys.modules, "toy_frontend", frontend)
    monkeypatch.setitem(sys.modules, "toy_runner", runner)
    monkeypatch.setattr(languages, "LANGUAGES", (*LANGUAGES, TOY))
    path = tmp_path / "mine.toy"
    path.write_text(TEXT)
    return path


def test_a_file_of_another_language_is_run_with_its_knob(toy):
    """32 lanes of one column are in one bank; with a pitch of 33 each is in its own."""
    (stored, *_), (padded, *_) = run(toy)["column"].summary(), run(toy, {"PITCH": 33})["column"].summary()
    assert (stored.wavefronts, padded.wavefronts) == (32, 1)


def test_a_verb_runs_it_and_pads_are_suggested_in_its_spelling_that_nothing_writes(toy, command):
    assert "column" in command("run", toy).out
    recording = run(toy)
    answered = answer(recording, parse_program(TEXT, "mine.toy"), None, "lockstep", H200)
    assert {suggestion.reason for suggestion in answered.suggested} == {"layouts are not written into Toy"}
    assert "tile[" in command("suggest", toy).out


def test_the_page_shows_it(toy):
    library = Library([toy])
    (file,) = library.files
    shown = view_run(library, {"file": file, "kernel": "column"})
    assert shown["eyebrow.html"][0] == "mine.toy"
    assert shown["source.html"][0].className == "source-line source-heads"
    assert [line.className.split()[0] for line in shown["source.html"]] == ["source-line"] * 3


def test_what_it_cannot_be_asked_is_said(toy):
    program = parse_program(TEXT, "mine.toy")
    with pytest.raises(InputError, match=r"^mine\.toy: Toy is not measured$"):
        meter_of(program, "time")
    with pytest.raises(InputError, match=r"^mine\.toy is Toy, which has one view only; leave out the view$"):
        program.in_view("compiled")


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.title)
@pytest.mark.parametrize(
    ("part", "asked"),
    [("frontend", Frontend), ("runner", Runner), ("rewriter", LayoutWriter)],
)
def test_the_modules_that_entries_name_have_what_is_asked_of_them(language, part, asked):
    if part == "rewriter" and not language.rewriter:
        pytest.skip("it has no layouts to be written")
    module = languages.loaded(getattr(language, part))
    for name, function in inspect.getmembers(asked, inspect.isfunction):
        if not name.startswith("_"):
            wanted = list(inspect.signature(function).parameters)[1:]
            assert list(inspect.signature(getattr(module, name)).parameters) == wanted, name


def _imported(code):
    shown = f"import sys; {code}; print(sorted(name for name in sys.modules if name.startswith('smemviz.')))"
    return set(
        ast.literal_eval(
            subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True).stdout
        )
    )


def test_who_reads_one_language_or_none_loads_nothing_of_another(tmp_path):
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    (tmp_path / "a.py").write_text("from numba import cuda\n")
    read = "from smemviz.frontends.reading import read_program; read_program({!r})"
    cuda, python = (_imported(read.format(str(tmp_path / name))) for name in ("a.cu", "a.py"))
    neither = _imported("import smemviz.engines")
    assert not [name for name in cuda | neither if name.startswith("smemviz.frontends.numba")]
    assert not [name for name in python | neither if name.startswith("smemviz.frontends.cuda")]

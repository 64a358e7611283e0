from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import pytest

from smemviz.app.library import Library, Started
from smemviz.cli.servers import check
from smemviz.cli.settings import compiled_as, compiler_words
from smemviz.cli.verbs import dashboard
from smemviz.errors import InputError

PROGRAM = """\
#include <cstdio>
#ifndef N
#error N is not given
#endif
__global__ void k(float *x) { __shared__ float s[N]; s[threadIdx.x] = x[threadIdx.x]; x[threadIdx.x] = s[threadIdx.x]; }
int main(int, char **argv) { printf("%s %d\\n", argv[1], N); float *d; cudaMalloc(&d, 4 * N); k<<<1, N>>>(d); }
"""


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    dashboard.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")
def test_the_page_runs_a_program_with_its_options_and_arguments(tmp_path: Path) -> None:
    path = tmp_path / "p.cu"
    path.write_text(PROGRAM)
    arguments = asked(str(path), "-D", "N=64", "-I", str(tmp_path))
    assert compiler_words(arguments) == ["-I", str(tmp_path), "-D", "N=64"]
    check(path, compiled_as(arguments))
    library = Library([path], started=Started(compiled_as(arguments), ["seven"]))
    recording = library.run(library.program("p.cu"))
    assert recording.printed == "seven 64\n"
    assert [launch.block for launch in recording.launches] == [(64, 1, 1)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("k.py", "-D", "N=64"), "-D is for CUDA C"),
        (("-std", "c++20"), "-std is for CUDA C"),
        (("k.cu", "-I", "not here"), "-I not here: there is no such folder"),
    ],
)
def test_options_of_a_compiler_want_something_to_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.py").write_text("from numba import cuda\n\n\ndef main():\n    pass\n")
    arguments = asked(*words)
    arguments.arguments = None
    with pytest.raises(InputError) as caught:
        dashboard.execute(arguments)
    assert message in str(caught.value)

"""What ends a program, or keeps it from being run, said in one line with its place."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.state import RunState
from smemviz.engines.cpp_host import program_run
from smemviz.errors import KernelFileError, MissingError, UnsupportedError
from smemviz.frontends.cuda import parse_cuda
from smemviz.recordings.findings import MAIN_FAILED

Write = Callable[..., Path]

HEAD = "#include <cstdio>\n#include <cstdlib>\n__global__ void k(int *out) { out[threadIdx.x] = threadIdx.x; }\n"


def program(body):
    """Return a program that has memory p and launches k once, then goes on."""
    return f"{HEAD}int main(int argc, char **argv) {{ int *p; cudaMalloc(&p, 128); k<<<1, 32>>>(p);\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (
            'printf("%d\\n", p[3]);',
            5,
            "main() ended with segmentation fault: the host reads or writes memory of the device here; copy it with "
            "cudaMemcpy",
        ),
        pytest.param(
            "int *none = nullptr; *(volatile int *)none = 1;",
            5,
            "main() ended with segmentation fault",
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            "abort();",
            5,
            "main() ended with abort (a failed assertion, or an exception that nothing catches)",
            marks=pytest.mark.exhaustive,
        ),
        (
            "if (argc < 2) return 3;",
            4,
            "main() ended with exits with status 3; it reads arguments: write them after --, as in smemviz run FILE "
            "-- 1024",
        ),
        pytest.param(
            "cudaArray_t a; cudaFreeArray(a);",
            4,
            "main() ended with its host code calls cudaFreeArray(), which is missing here; leave it out, or write the "
            "launches in comments: // smemviz: kernel<<<grid, block>>>(...)",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_what_ends_a_program_is_a_finding_and_what_it_launched_is_kept(write, body, line, message):
    recording = smemviz.run(write(p_cu=program(body)), arguments=[])
    assert [launch.kernel for launch in recording.launches] == ["k"]
    assert [(f.kind, f.line, f.message) for f in recording.findings] == [(MAIN_FAILED, line, message)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "int main() {\n  int *p = 5;\n}\n", "5:12: its host code does not compile: invalid conversion"),
        (
            '#include "not_here.h"\n' + HEAD + "int main() {}\n",
            "1: the header not_here.h is not found; name its folder",
        ),
        ("#include <cufft.h>\n" + HEAD + "int main() {}\n", "1: needs cuFFT, which does not run without a GPU"),
        (
            "#include <cublas_v2.h>\n#include <curand.h>\n"
            + HEAD
            + "int main() { cublasHandle_t h; cublasCreate(&h);\n"
            "cublasStatus_t s = cublasStrsm(h, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER); }\n",
            "6: its host code calls cublasStrsm(), which is missing here",
        ),
        pytest.param(
            HEAD + "int main() {}\n", "4: main() was run and launched no kernel", marks=pytest.mark.exhaustive
        ),
        pytest.param(HEAD + "int main() { return 4; }\n", "4: exits with status 4", marks=pytest.mark.exhaustive),
        *(
            pytest.param(
                HEAD + f"int main(int argc, char **argv) {{ {body} }}\n",
                f"4: {what}; it reads arguments: write them after",
                marks=pytest.mark.exhaustive,
            )
            for body, what in (
                ("return argv[1] ? 0 : 4;", "exits with status 4"),
                ("return argv[1] ? 4 : 0;", "main() was run and launched no kernel"),
                ("return atoi(argv[1]);", "segmentation fault"),
            )
        ),
        pytest.param(
            HEAD + "int main() {\n  auto f = [=] __device__ (int i) { return i; };\n  k<<<1, 32>>>(nullptr, f);\n}\n",
            "6:",
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_what_cannot_be_run_is_refused_at_its_place(write, text, message):
    path = write(p_cu=text)
    with pytest.raises(KernelFileError) as caught:
        smemviz.run(path)
    assert str(caught.value).startswith(f"{path.as_posix()}:{message}")


@pytest.mark.exhaustive
def test_memory_that_lockstep_does_not_have_is_refused(write):
    path = write(p_cu=HEAD + "int main() { int *p; cudaMalloc(&p, 3ull << 30); }\n")
    with pytest.raises(UnsupportedError, match=r"asks for 3,221,225,472 bytes of device memory at once"):
        smemviz.run(path)


def test_a_machine_without_a_compiler_says_what_to_install(write, monkeypatch):
    path = write(p_cu=program(""))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingError) as caught:
        smemviz.run(path)
    assert str(caught.value) == (
        "main() of a .cu file needs a C++ compiler: install g++ or clang++; launches in comments, "
        "// smemviz: kernel<<<grid, block>>>(...), do without"
    )


@pytest.mark.exhaustive
def test_files_from_elsewhere_never_run_on_the_host(write):
    touched = 'FILE *file = fopen("touched", "w"); fclose(file);'
    path = write(p_cu=program(touched))
    elsewhere = replace(parse_cuda(path.read_text(), path.as_posix()), trusted=False)
    with pytest.raises(KernelFileError, match="comes from elsewhere and is not run"):
        program_run.run(elsewhere)
    shared = Library([path], local=False)
    with pytest.raises(KernelFileError, match="only on your own machine"):
        shared.show(RunState(file="p.cu"))
    assert not path.with_name("touched").exists()
    own = Library([path]).show(RunState(file="p.cu"))
    assert [launch.kernel for launch in own.recording.launches] == ["k"]
    assert path.with_name("touched").exists()


def test_the_page_shows_what_main_printed(write):
    library = Library([write(p_cu=program('printf("hello\\n");'))])
    shown = view_run(library, {"file": "p.cu"})
    (details,) = shown["notices.html"]
    assert [part.children for part in details.children] == ["What main() printed", "hello\n"]

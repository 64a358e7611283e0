"""The compiler in a process of its own: what makes it crash, takes all time or memory, or is stopped."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smemviz.errors import MissingError
from smemviz.frontends.cuda import compile_program, nvrtc, parse_cuda
from smemviz.frontends.cuda.nvrtc import CompileError, compile_ptx

KERNEL = 'extern "C" __global__ void {name}(int *a) {{ a[0] = 1; }}\n'
LAUNCH = "// smemviz: k<<<1, 32>>>(zeros(1))\n"
# 2^24 templates, which no limit of the compiler's own ends.
BOMB = """template <int D, int N> struct X { enum { v = X<D - 1, 2 * N>::v + X<D - 1, 2 * N + 1>::v }; };
template <int N> struct X<0, N> { enum { v = N & 1 }; };

__global__ void k(int *a) { a[0] = X<24, 1>::v; }
"""
# A template whose parameter is of a type that is not there, asked for by its name.
CRASHES = """
template <const int ROWS>
__global__ void k(half *a) { a[threadIdx.x] = a[ROWS]; }
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def no_compiler():
    """Begin without a process that is kept."""
    nvrtc._end_all()


def ptx(name):
    return compile_ptx(KERNEL.format(name=name), "k.cu", (), {}, ()).text


def compilers_of(pid):
    """Return the processes that a process compiles in."""
    children: list[str] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended meanwhile
            children += (task / "children").read_text().split()
    return [int(child) for child in children if b"nvrtc_process" in Path("/proc", child, "cmdline").read_bytes()]


def eventually(holds):
    while not holds():  # the test's time limit is pytest's own
        time.sleep(0.02)


def run_bomb(folder):
    """Run a file whose compilation has no end, and return the process that compiles it."""
    (folder / "k.cu").write_text(BOMB + LAUNCH)
    command = [sys.executable, "-m", "smemviz", "run", str(folder / "k.cu"), "--engine", "lockstep"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    eventually(lambda: compilers_of(process.pid))
    return process, compilers_of(process.pid)[0]


def test_a_text_that_makes_it_crash_is_refused_with_the_error_that_makes_it(tmp_path, command):
    path = tmp_path / "k.cu"
    path.write_text(CRASHES + LAUNCH.replace("k<<<", "k<2><<<"))
    assert command("run", path, code=2).err.startswith(f"smemviz: {path.as_posix()}:3:")


def test_a_crash_without_a_reason_names_the_file_and_the_kernel(monkeypatch):
    def crash(library, request):
        raise nvrtc.DeathError("the compiler itself crashed on it (SIGSEGV)", crashed=True)

    monkeypatch.setattr(nvrtc, "answer_of", crash)
    with pytest.raises(Exception, match=r"^k\.cu:2: does not compile: the compiler itself crashed on it \(SIGSEGV\)$"):
        compile_program(parse_cuda("\n" + KERNEL.format(name="k"), "k.cu"), ["k"])


@on_linux
def test_one_that_is_killed_while_it_compiles_is_an_error_and_the_next_text_gets_another(no_compiler):
    with ThreadPoolExecutor() as threads:
        compiled = threads.submit(compile_ptx, BOMB, "k.cu", (), {}, ())
        eventually(lambda: compilers_of(os.getpid()))
        os.kill(compilers_of(os.getpid())[0], signal.SIGSEGV)
        with pytest.raises(CompileError, match=r"crashed on it \(SIGSEGV\)"):
            compiled.result()
    assert ".entry after" in ptx("after")


@on_linux
def test_one_that_ends_while_it_waits_is_replaced(no_compiler):
    ptx("first")
    (waiting,) = compilers_of(os.getpid())
    os.kill(waiting, signal.SIGKILL)
    eventually(lambda: not nvrtc._idle[0].is_running())
    assert ".entry second" in ptx("second")
    assert compilers_of(os.getpid()) != [waiting]


@on_linux
def test_one_compiles_one_text_after_the_other(no_compiler):
    ptx("first")
    kept = compilers_of(os.getpid())
    with pytest.raises(CompileError, match='identifier "b" is undefined'):
        compile_ptx("__device__ int a = b;", "k.cu", (), {}, ())
    ptx("third")
    assert compilers_of(os.getpid()) == kept


def test_time_is_bounded(monkeypatch, no_compiler):
    monkeypatch.setattr(nvrtc, "_SECONDS", 0.3)
    with pytest.raises(CompileError, match=r"the compiler was stopped after 0\.3 seconds"):
        compile_ptx(BOMB, "k.cu", (), {}, ())


@pytest.mark.exhaustive
@on_linux
def test_memory_is_bounded(monkeypatch, no_compiler):
    monkeypatch.setattr(nvrtc, "_BYTES", 100_000_000)
    with pytest.raises(CompileError, match="out of memory") as error:
        compile_ptx(BOMB, "k.cu", (), {}, ())
    assert error.value.line == 1


@pytest.mark.exhaustive
@on_linux
def test_ctrl_c_ends_a_compilation_at_once(tmp_path):
    process, compiler = run_bomb(tmp_path)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert (process.returncode, error) == (130, "smemviz: stopped before it was done; nothing was saved\n")
    assert not Path("/proc", str(compiler)).exists()


@pytest.mark.exhaustive
@on_linux
def test_it_ends_with_the_process_that_it_compiles_for(tmp_path):
    process, compiler = run_bomb(tmp_path)
    process.kill()
    process.communicate()
    eventually(lambda: not Path("/proc", str(compiler)).exists())


def test_threads_compile_beside_each_other():
    names = [f"kernel_{number}" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        for name, text in zip(names, threads.map(ptx, names), strict=True):
            assert f".entry {name}" in text
    assert len(nvrtc._idle) <= 2


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_forked_process_has_its_own():
    script = f"""
import os
from smemviz.frontends.cuda.nvrtc import compile_ptx

def compiled(name):
    return f".entry {{name}}(" in compile_ptx({KERNEL!r}.format(name=name), "k.cu", (), {{}}, ()).text

assert compiled("before")
for child in range(4):
    if not os.fork():
        assert all(compiled(f"forked_{{child}}_{{number}}") for number in range(4))
        os._exit(42)
assert all(compiled(f"parent_{{number}}") for number in range(4))
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4)])
"""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[42, 42, 42, 42]\n", "")


def test_a_library_that_cannot_be_loaded_is_one_line(tmp_path, monkeypatch, no_compiler):
    (tmp_path / "libnvrtc.so.13").write_text("no library")
    monkeypatch.setattr(nvrtc, "_library_path", lambda: tmp_path / "libnvrtc.so.13")
    try:
        with pytest.raises(MissingError, match=r"cannot be loaded .*; install it again: pip install"):
            ptx("k")
    finally:
        nvrtc._end_all()


@on_linux
@pytest.mark.exhaustive
def test_a_library_that_does_not_look_beside_itself_finds_its_parts(tmp_path, monkeypatch, no_compiler):
    library = nvrtc._library_path()
    assert library
    for part in library.parent.glob("libnvrtc-builtins*"):
        (tmp_path / part.name).symlink_to(part)
    copy = tmp_path / library.name
    copy.write_bytes(library.read_bytes().replace(b"\0$ORIGIN\0", b"\0/ORIGIN\0"))
    monkeypatch.setattr(nvrtc, "_library_path", lambda: copy)
    assert ".entry here" in ptx("here")

import gc
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event
from weakref import ref

import pytest
from helpers.gallery import RECORDINGS
from helpers.made_kernels import FILLS

import smemviz
from smemviz.app import library as library_module
from smemviz.app.cache import size_of
from smemviz.app.library import Library
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.state import RunState
from smemviz.app.texts import Texts, page_of
from smemviz.engines import run
from smemviz.errors import ConstantError, InputError, LaunchError, RecordingError
from smemviz.frontends.program import source_sha256
from smemviz.paths import gallery, kernels_dir, plain_name
from smemviz.recordings.file import load
from smemviz.recordings.recording import Recording

SQUARE, RECORDING = kernels_dir() / "square.py", RECORDINGS / "square.smem.npz"


@pytest.fixture
def served() -> Library:
    return Library(gallery())


def test_the_gpu_recording_is_shown_where_its_constants_are_asked_for(served: Library) -> None:
    shown = served.show(RunState("square", constants={"IPAD": "1"}))
    assert shown.from_file
    assert shown.why is None
    assert shown.recording.device is not None
    assert shown.recording.device.name == "NVIDIA H200"


def test_who_asks_at_once_gets_one_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    served, together = Library(gallery()), Barrier(8)

    def load_slowly(path: Path) -> Recording:
        time.sleep(0.2)  # for the others to come meanwhile
        return load(path)

    monkeypatch.setattr(library_module, "load", load_slowly)

    def ask() -> Recording:
        together.wait(60)
        return served.show(RunState(file="square")).recording

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask) for _ in range(8)]
    assert len({id(one.result()) for one in asked}) == 1


def test_other_constants_are_run_in_lockstep_and_the_page_says_why(served: Library) -> None:
    shown = served.show(RunState("square", constants={"IPAD": "0"}))
    assert not shown.from_file
    assert shown.recording.engine == "lockstep"
    assert shown.why == "The GPU recording was made with other constants."
    assert [row.wavefronts for row in shown.recording["set_row_read_col_pad"].summary()] == [32, 1024, None]


def test_lockstep_can_be_asked_for_beside_the_recording(served: Library) -> None:
    shown = served.show(RunState("square", source="lockstep"))
    assert shown.recording.engine == "lockstep"
    assert shown.why is None
    assert shown.recorded is not None


def test_the_same_constants_are_run_once(served: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    first = served.show(RunState("square", constants={"IPAD": "3"})).recording
    monkeypatch.setattr(library_module, "run", None)
    assert served.show(RunState("square", constants={"IPAD": "3"})).recording is first


def test_only_the_latest_runs_are_kept(served: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    one = served.show(RunState("reverse", constants={"N": "32"})).recording
    monkeypatch.setattr(library_module, "_MOST_BYTES", 4 * 5 * size_of(one) // 2)
    served = Library(gallery())
    first, *_ = (served.show(RunState("reverse", constants={"N": str(n)})).recording for n in (32, 64, 96))
    assert served.show(RunState("reverse", constants={"N": "32"})).recording is not first


def test_while_something_runs_whatever_is_known_is_shown(served: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    known = served.show(RunState("square", constants={"IPAD": "3"})).recording
    begun, may_end = Event(), Event()

    def run_long(*arguments: object, **options: object) -> Recording:
        begun.set()
        assert may_end.wait(60)
        return known

    monkeypatch.setattr(library_module, "run", run_long)
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(served.show, RunState("square", constants={"IPAD": "4"})) for _ in range(2)]
        assert begun.wait(60)
        try:
            asked = pool.submit(served.show, RunState("square", constants={"IPAD": "3"}))
            assert asked.result(60).recording is known
        finally:
            may_end.set()
        assert {id(one.result(60).recording) for one in runs} == {id(known)}


def test_while_a_recording_is_loaded_the_others_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    served, begun, may_end = Library(gallery()), Event(), Event()
    known = served.show(RunState("square")).recording

    def load_long(path: Path) -> Recording:
        begun.set()
        assert may_end.wait(60)
        return load(path)

    monkeypatch.setattr(library_module, "load", load_long)
    with ThreadPoolExecutor(2) as pool:
        coming = pool.submit(served.show, RunState("reverse"))
        assert begun.wait(60)
        try:
            assert pool.submit(served.show, RunState("square")).result(10).recording is known
        finally:
            may_end.set()
        assert coming.result(60).from_file


@pytest.mark.exhaustive
def test_a_recording_that_was_made_anew_is_loaded_anew_and_the_old_one_let_go(tmp_path: Path) -> None:
    path = tmp_path / "mine.smem.npz"
    shutil.copy(RECORDING, path)
    served = Library([path])
    before = ref(served.show(RunState("mine")).recording)
    assert served.show(RunState("mine")).recording is before()
    os.utime(path, ns=(1, 1))
    assert served.show(RunState("mine")).recording is not before()
    gc.collect()
    assert before() is None


def test_a_refusal_is_the_same_each_time(served: Library) -> None:
    state = RunState("square", constants={"BDIMX": "64"})
    for _ in range(2):
        with pytest.raises(LaunchError, match="4096 threads; a device takes 1024"):
            served.show(state).launch(state)


def test_constants_are_checked_against_the_file(served: Library) -> None:
    with pytest.raises(ConstantError, match="there is no constant NOPE"):
        served.show(RunState("square", constants={"NOPE": "1"}))


@pytest.mark.parametrize("file", ["", "nope", "/etc/passwd", "../pyproject.toml", str(SQUARE)])
def test_only_files_the_server_was_started_with_are_read(served: Library, file: str) -> None:
    with pytest.raises(InputError, match="not served here"):
        served.program(file)


def test_a_recording_can_be_served_without_its_kernel_file(tmp_path: Path) -> None:
    shutil.copy(RECORDING, tmp_path / "mine.smem.npz")
    served = Library([tmp_path / "mine.smem.npz"])
    assert served.files == ("mine",)
    assert served.show(RunState("mine")).from_file
    turned = served.show(RunState("mine", constants={"IPAD": "2"}))
    assert turned.recording.engine == "lockstep"
    assert turned.program.values["PITCH"] == 34


def test_a_file_that_changed_is_read_anew_and_its_recording_left_alone(tmp_path: Path) -> None:
    shutil.copytree(kernels_dir(), tmp_path, dirs_exist_ok=True)
    square = tmp_path / "square.py"
    served = Library([square])
    assert served.show(RunState("square")).from_file
    square.write_text(square.read_text().replace("IPAD = 1", "IPAD = 2"))
    shown = served.show(RunState("square"))
    assert shown.why == "The file has changed since it was recorded on a GPU."
    assert shown.program.values["PITCH"] == 34


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        shutil.copy(SQUARE, tmp_path / folder)
    assert Library([tmp_path / "one" / "square.py", tmp_path / "two" / "square.py"]).files == ("square", "two/square")


def test_a_launch_is_found_by_kernel_and_number(served: Library) -> None:
    shown = served.show(RunState("square"))
    assert shown.launch(RunState("square", "set_row_read_col")).kernel == "set_row_read_col"
    assert shown.launch(RunState("square", "set_row_read_col", launch=7)).kernel == "set_row_read_col"
    assert shown.launch(RunState("square", "nope")).kernel == "set_row_read_row"


def test_a_helper_that_changed_is_run_anew(tmp_path: Path) -> None:
    (tmp_path / "deeper_aid.py").write_text("STRIDE = 1\n")
    (tmp_path / "turning_aid.py").write_text(AID)
    path = tmp_path / "uses_aid.py"
    path.write_text(USES_AID)
    served = Library([path])
    assert degree(served) == 1
    (tmp_path / "deeper_aid.py").write_text("STRIDE = 32\n")
    assert degree(served) == 32


def degree(served: Library) -> int | None:
    (launch,) = served.show(RunState("uses_aid")).recording.launches
    return launch.summary()[0].max_degree


AID = """\
from deeper_aid import STRIDE

def place(i):
    return i * STRIDE
"""

USES_AID = """\
import numpy as np
from numba import cuda, int32
from turning_aid import place
PLACES = place(1)
@cuda.jit
def kernel(out):
    tile = cuda.shared.array(1024, int32)
    tile[cuda.threadIdx.x * PLACES] = 1
    out[cuda.threadIdx.x] = 1
def main():
    kernel[1, 32](cuda.to_device(np.zeros(32, np.int32)))
"""


def test_a_recording_that_was_deleted_is_an_error_in_words(tmp_path: Path) -> None:
    mine = Path(shutil.copy(RECORDING, tmp_path / "mine.smem.npz"))
    served = Library([mine])
    assert served.show(RunState("mine")).from_file
    mine.unlink()
    with pytest.raises(RecordingError, match=r"mine\.smem\.npz: can no longer be read: No such file"):
        served.show(RunState("mine"))


def test_launches_that_are_alike_stand_together(tmp_path: Path) -> None:
    path = tmp_path / "often.py"
    path.write_text(
        FILLS + "    for blocks, step in ((1, 1), (1, 4), (2, 1), (1, 2)):\n        fill[blocks, 32](out, step)\n"
    )
    shown = Library([path]).show(RunState("often"))
    groups = [[(launch.kernel, launch.grid[0], nth) for launch, nth in alike] for alike in shown.groups()]
    assert groups == [[("fill", 1, 0), ("fill", 1, 1), ("fill", 1, 3)], [("fill", 2, 2)]]


@pytest.mark.parametrize("name", ["text-mine", "text-0123456789abcdef"])
def test_a_file_may_be_named_as_texts_are(tmp_path: Path, texts: Texts, name: str) -> None:
    path = tmp_path / f"{name}.py"
    shutil.copy(SQUARE, path)
    served = Library([path], texts)
    assert served.kernel_file(name) == path
    assert served.program(name).file == path.as_posix()
    assert served.show(RunState(name)).recording.engine == "lockstep"


def test_links_to_a_file_named_as_texts_are_lead_to_its_page() -> None:
    assert [page_of(name) for name in ("text-mine", "text-0123456789abcdef")] == ["/kernel", "/editor"]


def test_what_a_recording_brings_is_run_in_the_sandbox_when_a_knob_turns(tmp_path: Path, texts: Texts) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SQUARE.read_text(encoding="utf-8"), encoding="utf-8")
    run(path, engine="lockstep").save(tmp_path / "mine.smem.npz")
    served = Library([tmp_path / "mine.smem.npz"], texts)
    assert served.show(RunState("mine")).origin == "recording"
    shown = served.show(RunState("mine", constants={"IPAD": "0"}))
    assert shown.why == "The recording was made with other constants."
    assert shown.origin == "lockstep run"
    assert shown.recording.constants["IPAD"] == 0
    assert [row.wavefronts for row in shown.recording["set_row_read_col_pad"].summary()] == [32, 1024, None]


def test_python_never_executes_what_a_recording_brings(tmp_path: Path, texts: Texts) -> None:
    """A stranger's file may say that its constants differ from those of its source, which then is to be run at once."""
    path, trace = tmp_path / "mine.py", tmp_path / "trace"
    text = SQUARE.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    recording = run(path, engine="lockstep")
    hostile = f"{text}\n\nif IPAD == 0:\n    import pathlib\n    pathlib.Path({str(trace)!r}).touch()\n"
    sha256 = source_sha256(hostile)
    replace(recording, source=hostile, sha256=sha256).save(tmp_path / "hostile.smem.npz")
    served = Library([tmp_path / "hostile.smem.npz"], texts)
    with pytest.raises(InputError, match="pathlib is not available in the editor"):
        served.show(RunState("hostile", constants={"IPAD": "0"}))
    assert not trace.exists()


@pytest.mark.exhaustive
def test_for_other_machines_the_gallery_runs_within_the_limits_of_the_editor(texts: Texts) -> None:
    """Whoever reaches the server chooses the constants, and with them how much a file asks of the machine."""
    served = Library(gallery(), texts, local=False)
    shown = served.show(RunState("square", constants={"IPAD": "0"}))
    assert [row.wavefronts for row in shown.recording["set_row_read_col_pad"].summary()] == [32, 1024, None]
    with pytest.raises(InputError, match="the editor gives an array 67,108,864"):
        served.show(RunState("transpose", constants={"ROWS": "10000000"}))


def test_for_other_machines_files_are_what_was_named_and_nothing_else_of_the_disk(tmp_path: Path, texts: Texts) -> None:
    square = SQUARE.read_text(encoding="utf-8")
    (tmp_path / "own.py").write_text(square)
    (tmp_path / "secret.py").write_text(square)
    (tmp_path / "reads.py").write_text(f"import secret\n{square}")
    shutil.copy(RECORDING, tmp_path / "own-gpu.smem.npz")
    served = Library([tmp_path / "own.py", tmp_path / "reads.py", tmp_path / "own-gpu.smem.npz"], texts, local=False)
    shown = served.show(RunState("own", constants={"IPAD": "0"}))
    assert [row.wavefronts for row in shown.recording["set_row_read_col_pad"].summary()] == [32, 1024, None]
    assert served.show(RunState("own-gpu")).recording.engine == "gpu"
    for name in ("secret", "secret.py", str(tmp_path / "secret"), "../secret", "own/../secret", "/etc/passwd"):
        with pytest.raises(InputError, match="not served here"):
            served.show(RunState(name))
    with pytest.raises(InputError, match=r"^reads.py:1: .*secret"):
        served.show(RunState("reads"))
    for name in ("own.py", "own-gpu.smem.npz"):
        (tmp_path / name).unlink()
        with pytest.raises(InputError) as caught:
            served.show(RunState(plain_name(Path(name))))
        assert str(caught.value).startswith(f"{name}: ")
        assert str(tmp_path) not in str(caught.value)


def test_a_constant_that_a_kernel_does_not_read_keeps_its_recording() -> None:
    library = Library([kernels_dir() / "square.py"])
    changed = {"IPAD": "0"}
    shown = library.show(RunState("square", "set_row_read_col", constants=changed))
    assert (shown.recording.engine, shown.from_file, shown.why) == ("gpu", True, None)
    assert shown.program.values["IPAD"] == 0
    # The other kernels of the page are run with it.
    assert shown.others is not None
    assert shown.others.recording.engine == "lockstep"
    assert shown.others.recording.constants["IPAD"] == 0
    read = library.show(RunState("square", "set_row_read_col_pad", constants=changed))
    assert (read.recording.engine, read.others) == ("lockstep", None)
    # Its code reads no pad, but its launch does.
    launched = library.show(RunState("square", "set_row_read_col_dyn", constants={"BDIMX": "16"}))
    assert launched.recording.engine == "lockstep"
    # Whoever names no kernel may mean all of them.
    assert library.show(RunState("square", constants=changed)).recording.engine == "lockstep"
    asked = library.show(RunState("square", "set_row_read_col", constants=changed, source="lockstep"))
    assert asked.recording.engine == "lockstep"


def test_the_links_of_such_a_page_say_what_the_other_kernels_do_now() -> None:
    library = Library([kernels_dir() / "square.py"])
    shown = view_run(library, {"file": "square", "kernel": "set_row_read_col", "IPAD": "0"})["kernels.html"]
    links = [link for link in shown if "kernel-link" in link.className]
    badges = {link.children[0].children: link.children[1].children for link in links}
    assert badges["set_row_read_col_pad"] == "32-way"
    assert [link.children[0].children for link in links if "current" in link.className] == ["set_row_read_col"]


def test_a_launch_that_only_looks_untouched_is_run_again(tmp_path: Path) -> None:
    """What a kernel is given may follow from a constant that neither it nor its launch names."""
    path = tmp_path / "given.py"
    path.write_text(GIVEN, encoding="utf-8")
    (tmp_path / "recordings" / "here").mkdir(parents=True)
    smemviz.run(path, engine="lockstep").save(tmp_path / "recordings" / "here" / "given.smem.npz")
    library = Library([path])
    assert library.show(RunState("given", "second", constants={"UNUSED": "2"})).from_file
    assert not library.show(RunState("given", "second", constants={"STEP": "2"})).from_file


GIVEN = """
import numpy as np
from numba import cuda, int32

STEP = 1
UNUSED = 1


@cuda.jit
def first(places):
    places[cuda.threadIdx.x] = cuda.threadIdx.x * STEP


@cuda.jit
def second(places):
    held = cuda.shared.array(64, int32)
    held[places[cuda.threadIdx.x]] = 1


def main():
    places = cuda.to_device(np.zeros(32, np.int32))
    first[1, 32](places)
    second[1, 32](places)
"""

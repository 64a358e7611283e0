"""What is installed: light to import, typed, with its gallery."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import smemviz
from smemviz import resources
from smemviz.program import read_program
from smemviz.recording_file import load

HEAVY = {"dash", "flask", "numba", "numba_cuda", "numpy", "plotly", "rich", "scipy", "pandas"}


def modules_after(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_importing_smemviz_imports_nothing_heavy() -> None:
    assert modules_after("import smemviz") & HEAVY == set()


def test_help_imports_nothing_heavy() -> None:
    helping = "import contextlib, smemviz.cli\nwith contextlib.suppress(SystemExit): smemviz.cli.main(['--help'])"
    assert modules_after(helping) & HEAVY == set()


def test_every_public_name_is_there() -> None:
    names = ["Recording", "__version__", "create_app", "load", "record", "run", "sectors", "wavefronts"]
    assert smemviz.__all__ == names
    assert [name for name in names if not hasattr(smemviz, name)] == []
    assert set(names) <= set(dir(smemviz))


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'smemviz' has no attribute 'wavefront'"):
        _ = smemviz.wavefront


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(smemviz.__file__).parent / "py.typed").is_file()


def test_the_gallery_is_there_with_its_recordings() -> None:
    assert [path.name for path in resources.gallery()] == ["rectangle.py", "reverse.py", "square.py"]
    for path in resources.gallery():
        recording = resources.recording_for(path)
        assert recording is not None
        assert recording.parts[-3:] == ("recordings", "h200", f"{path.stem}.smem.npz")


def test_a_kernel_file_without_a_recording_has_none(tmp_path: Path) -> None:
    assert resources.recording_for(tmp_path / "mine.py") is None


def test_the_packaged_gallery_comes_before_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "smemviz"
    (tmp_path / "kernels").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    assert resources.kernels_dir() == tmp_path / "kernels"
    (package / "_data" / "kernels").mkdir(parents=True)
    assert resources.kernels_dir() == package / "_data" / "kernels"


@pytest.mark.parametrize("path", resources.gallery(), ids=lambda path: path.stem)
def test_a_kernel_file_is_the_one_its_recording_was_made_from(path: Path) -> None:
    """Fails when a kernel file has changed: record it again on an H200."""
    recorded = resources.recording_for(path)
    assert recorded is not None
    recording = load(recorded)
    program = read_program(path)
    assert recording.sha256 == program.sha256
    assert recording.constants == program.values
    assert [launch.kernel for launch in recording.launches] == list(program.kernels)


# Per kernel: shared store wavefronts, shared load wavefronts, global store sectors, as an H200 counts them with
# Nsight Compute.
SQUARE = {
    "set_row_read_row": (32, 32, 128),
    "set_col_read_col": (1024, 1024, 128),
    "set_row_read_col": (32, 1024, 128),
    "set_row_read_col_dyn": (32, 1024, 128),
    "set_row_read_col_pad": (32, 32, 128),
    "set_row_read_col_dyn_pad": (32, 32, 128),
}
RECTANGLE = {
    "set_row_read_row": (16, 16, 64),
    "set_col_read_col": (256, 256, 64),
    "set_row_read_col": (16, 256, 64),
    "set_row_read_col_dyn": (16, 256, 64),
    "set_row_read_col_pad": (16, 16, 64),
    "set_row_read_col_dyn_pad": (16, 16, 64),
}
REVERSE = {"static_reverse": (2, 2, 8), "dynamic_reverse": (2, 2, 8)}
COUNTED = {"square": SQUARE, "rectangle": RECTANGLE, "reverse": REVERSE}


@pytest.mark.parametrize("path", resources.gallery(), ids=lambda path: path.stem)
def test_the_recordings_hold_the_counts_of_the_hardware(path: Path) -> None:
    recorded = resources.recording_for(path)
    assert recorded is not None
    recording = load(recorded)
    assert recording.engine == "gpu"
    assert recording.device is not None
    assert recording.device.name == "NVIDIA H200"
    counted = {}
    for launch in recording.launches:
        rows = {(s.space, s.op): row for s, row in zip(launch.sites, launch.summary(), strict=True)}
        store, fetch, out = rows["shared", "store"], rows["shared", "load"], rows["global", "store"]
        counted[launch.kernel] = (store.wavefronts, fetch.wavefronts, out.sectors)
    assert counted == COUNTED[path.stem]


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("square", {}),
        ("square", {"BDIMX": 16, "IPAD": 0}),
        ("rectangle", {"BDIMX": 16, "BDIMY": 8, "IPAD": 5}),
        ("reverse", {"N": 96}),
    ],
)
def test_a_kernel_file_runs_by_itself_in_numbas_simulator(name: str, constants: dict[str, int], tmp_path: Path) -> None:
    """The files know nothing of smemviz, and their own checks hold for other constants."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    source = (resources.kernels_dir() / f"{name}.py").read_text(encoding="utf-8")
    assert "smemviz" not in source
    for constant, value in constants.items():
        source, replaced = re.subn(rf"^{constant} = \d+$", f"{constant} = {value}", source, flags=re.M)
        assert replaced == 1
    file = tmp_path / f"{name}.py"
    file.write_text(source, encoding="utf-8")
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-W", "ignore", file]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{name}.py: ")
    assert done.stdout.endswith("agree with NumPy\n")

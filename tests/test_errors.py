"""What is installed: light to import, typed, with its gallery; and what every error has in common."""

import os
import pickle
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import smemviz
from smemviz import paths as resources
from smemviz.errors import BusyError, InputError, KernelFileError, SourceError

DATA = (Path(smemviz.__file__).parent / "_data").resolve().as_posix()


def test_an_error_is_one_line_and_does_not_say_where_smemviz_is_installed():
    assert str(InputError(f"{DATA}/kernels/square.py:3: a\nb")) == "kernels/square.py:3: a b"
    assert str(KernelFileError(f"{DATA}/kernels/square.py", 3, "what")) == "kernels/square.py:3: what"


def test_an_error_of_another_process_is_the_same():
    for error in [InputError("what"), KernelFileError("f.py", 3, "what"), SourceError("f.py", 3, 4, "what")]:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.exit_code) == (type(error), str(error), 2)


def test_an_error_that_is_kept_holds_nothing_of_where_it_came_from():
    try:
        try:
            raise ValueError
        except ValueError:
            raise SourceError("f.py", 3, 4, "what")  # noqa: B904
    except SourceError as error:
        error.kernel = "of"
        kept = error.again()
    assert (str(kept), kept.file, kept.line, kept.column, kept.kernel) == ("f.py:3:4: what", "f.py", 3, 4, "of")
    assert kept.__traceback__ is kept.__context__ is None


def test_who_finds_it_busy_is_told_when_to_come_back():
    assert (BusyError("busy").seconds, BusyError("full", 30).seconds) == (5, 30)


ROOT = Path(__file__).parents[1]
HEAVY = {"dash", "dataclasses", "logging", "flask", "numba", "numba_cuda", "numpy", "plotly", "rich", "scipy", "pandas"}


def modules_after(statement):
    """Return the top-level modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


HELPING = "import contextlib, smemviz.cli.main as cli\nwith contextlib.suppress(SystemExit): cli.main(['--help'])"


def test_importing_smemviz_and_its_help_import_nothing_heavy():
    for statement in ["import smemviz", HELPING]:
        assert modules_after(statement) & HEAVY == set()


def test_whatever_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.split(r"[^\w-]", one)[0].replace("-", "_") for one in chain(*lists)}
    declared |= {"pynvml"} if "nvidia_ml_py" in declared else set()
    declared |= {"PIL"} if "pillow" in declared else set()
    declared |= {"cuda"} if "numba_cuda" in declared else set()  # the bindings to a driver are its own
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "smemviz").rglob("*.py")]
    found = (re.findall(r"^ *(?:import|from) (\w+).*?(?: import |$)", text, re.MULTILINE) for text in texts)
    roots = set(chain(*found))
    assert roots - set(sys.stdlib_module_names) - {"smemviz", "_typeshed"} <= declared  # which is for mypy alone


def test_the_gallery_is_there_with_its_recordings():
    assert sorted(path.stem for path in resources.gallery()) == [
        *("histogram", "latency", "matmul", "mistakes", "rectangle", "reduce", "reverse", "square", "stencil"),
        *("submatrix", "transpose"),
    ]
    for path in resources.gallery():
        if path.name == "mistakes.py":  # which a GPU is not asked to make
            continue
        recording = resources.recording_for(path)
        assert recording.parts[-3:] == ("recordings", "h200", f"{path.stem}.smem.npz")
    assert resources.recording_for(Path("mine.py")) is None


def test_the_packaged_gallery_comes_before_the_checkout(tmp_path, monkeypatch):
    package = tmp_path / "smemviz"
    (tmp_path / "kernels").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", package)
    assert resources.kernels_dir() == tmp_path / "kernels"
    (package / "_data" / "kernels").mkdir(parents=True)
    assert resources.kernels_dir() == package / "_data" / "kernels"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("square", {}),
        ("square", {"BDIMX": 16, "IPAD": 0}),
        ("rectangle", {"BDIMX": 16, "BDIMY": 8, "IPAD": 5}),
        ("reverse", {"N": 96}),
        ("transpose", {"ROWS": 20, "COLUMNS": 37, "TILE": 8}),
        ("histogram", {"N": 200, "BINS": 50, "THREADS": 64}),
        ("matmul", {"M": 8, "K": 16, "N": 16, "TILE": 8}),
        ("latency", {}),
    ],
)
def test_a_kernel_file_runs_by_itself_in_numbas_simulator(name, constants, tmp_path):
    """The files know nothing of smemviz, and their own checks hold for other constants.

    Not all of them: the simulator has no shuffles, which reduce.py needs.
    """
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

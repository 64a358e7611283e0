"""What a script imports that is not here: its package, what stands in for it, or that its kernels are not recorded."""

import json
import sys

import pytest

import smemviz
from smemviz.engines.remedies import is_installed, package_of
from smemviz.errors import KernelFileError, UnsupportedError

LAUNCH = """
import numpy as np
from numba import cuda


@cuda.jit
def ones(out):
    out[cuda.grid(1)] = 1


out = np.zeros(8)
ones[1, 8](out)
assert out.sum() == 8
"""


def run(folder, text, name="script.py"):
    path = folder / name
    path.write_text(text)
    return smemviz.run(path, engine="lockstep")


def notebook(folder, *cells):
    code = [{"cell_type": "code", "source": cell} for cell in cells]
    return run(folder, json.dumps({"cells": code, "metadata": {}}), "book.ipynb")


def test_a_package_is_named_as_pip_takes_it():
    for module, package in [
        ("cv2", "opencv-python"),
        ("mpi4py.MPI", "mpi4py"),
        ("cuda.bindings.driver", "cuda-python"),
        ("cuda.core.experimental", "cuda-core"),
        ("numba_cuda", "numba-cuda"),
        ("helpers", None),
        ("accelerate.cuda", None),  # not the accelerate that PyPI has
    ]:
        assert package_of(module) == package


def test_what_is_missing_says_how_to_get_it(tmp_path):
    for line, said in [
        (
            "import cudf",
            "No module named 'cudf'; install it with pip install cudf-cu12, or put cudf.py beside the file",
        ),
        ("import Queue", "No module named 'Queue'; it is written for Python 2: write queue instead"),
    ]:
        with pytest.raises(KernelFileError, match=said):
            run(tmp_path, line)


@pytest.mark.skipif(is_installed("triton"), reason="Triton is installed here")
def test_kernels_of_triton_say_what_they_need(tmp_path):
    with pytest.raises(KernelFileError, match=r"script\.py:1: .*; install it with pip install 'smemviz\[triton\]'"):
        run(tmp_path, "import triton\n")


@pytest.mark.parametrize(
    ("text", "line", "language"),
    [
        ("import numpy as np\nimport warp as wp\n", 2, "Warp"),
        ("import cutlass.cute as cute\n", 1, "CuTe DSL"),
        ("from jax.experimental import pallas as pl\n", 1, "Pallas"),
        ("from torch.utils.cpp_extension import load_inline\n", 1, "torch's load_inline"),
    ],
)
@pytest.mark.parametrize("installed", [False, True])
def test_kernels_of_other_languages_are_not_recorded(tmp_path, monkeypatch, text, line, language, installed):
    if installed:  # as far as these scripts see
        packages = tmp_path / "packages"
        for name in ("warp", "cutlass/cute", "jax/experimental/pallas", "torch/utils/cpp_extension"):
            (packages / name).mkdir(parents=True)
            (packages / name / "__init__.py").write_text("load_inline = None\n")
        monkeypatch.syspath_prepend(packages)
        for name in ("warp", "cutlass", "jax", "torch"):
            monkeypatch.delitem(sys.modules, name, raising=False)
    elif is_installed(text.split()[1].partition(".")[0]):
        pytest.skip("it is installed here")
    with pytest.raises(KernelFileError) as met:
        run(tmp_path, text)
    compiles_alone = language in ("Warp", "CuTe DSL")
    said = "recorded from a .ptx file alone; have it written: " if compiles_alone else "not recorded; "
    assert str(met.value).startswith(f"{tmp_path}/script.py:{line}: kernels of {language} are {said}")
    assert "main()" not in str(met.value)


def test_what_numba_launches_beside_such_kernels_is_recorded(tmp_path):
    (tmp_path / "warp.py").write_text("speed = 9\n")  # of the user's own
    assert len(run(tmp_path, "import warp\n" + LAUNCH).launches) == 1
    with pytest.raises(KernelFileError, match="was run and launched no kernel"):
        run(tmp_path, "import warp\n")


def test_a_function_that_something_else_compiles_is_no_kernel(tmp_path):
    text = LAUNCH.replace("import cuda", "import cuda, jit\nimport numba as nb")
    text = text.replace("@cuda.jit", "@jit\ndef first(a):\n    return a\n\n\n@nb.cuda.jit")
    (tmp_path / "script.py").write_text(text)
    assert list(smemviz.frontends.reading.read_program(tmp_path / "script.py").kernels) == ["ones"]


def test_a_notebook_of_colab_runs_without_colab(tmp_path):
    setup = """\
!pip install numba
%matplotlib inline
from google.colab import drive, files, output, userdata
from google.colab.patches import cv2_imshow
from IPython.display import Image, clear_output, display

drive.mount("/content/drive", force_remount=True)
for name, data in files.upload().items():
    open(name, "wb").write(data)
display(Image("picture.png"))
clear_output(wait=True)
"""
    recording = notebook(tmp_path, setup, LAUNCH + "cv2_imshow(out)\n")
    assert [launch.kernel for launch in recording.launches] == ["ones"]
    assert recording.findings == ()
    assert not any(name.partition(".")[0] == "google" for name in sys.modules)


def test_a_file_that_is_uploaded_in_colab_is_read_from_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("8")
    text = "from google.colab import files\nassert files.upload()['data.txt'] == b'8'\n"
    assert len(run(tmp_path, text + LAUNCH).launches) == 1


def test_what_only_colab_has_is_one_line(tmp_path):
    for line, error, said in [
        (
            "userdata.get('KEY')",
            UnsupportedError,
            "google.colab.userdata.get is known in a notebook only; leave it out",
        ),
        (
            "open('/content/drive/MyDrive/image.png')",
            KernelFileError,
            "that folder is Colab's; put the file beside the script, and name it without a folder",
        ),
    ]:
        with pytest.raises(error, match=f"script.py:2: .*{said}"):
            run(tmp_path, f"from google.colab import userdata\n{line}\n")


def test_a_script_that_can_do_without_colab_does(tmp_path):
    text = "try:\n    import google.colab\nexcept ImportError:\n    pass\nelse:\n    raise SystemExit(3)\n"
    assert len(run(tmp_path, text + LAUNCH).launches) == 1

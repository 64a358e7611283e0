"""Notebooks: their cells as one script, run as any other."""

import json

import pytest

from smemviz import run
from smemviz.cli.main import main
from smemviz.errors import InputError, KernelFileError
from smemviz.frontends.numba.notebook import script_of
from smemviz.frontends.reading import read_source
from smemviz.recordings.findings import LAUNCH_REFUSED


def notebook(*cells, kind="code", **metadata):
    """Return the text of a notebook of these cells, after one of prose."""
    prose = {"cell_type": "markdown", "source": ["# true and null are JSON\n"], "metadata": {}}
    code = [{"cell_type": kind, "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    return json.dumps({"cells": [prose, *code], "metadata": metadata, "nbformat": 4})


def lines_of(*cells):
    return script_of(notebook(*cells), "n.ipynb").splitlines()


def test_cells_follow_each_other_under_their_numbers():
    """Those of the shell and that write a file are left out whole, and one that is no Python raises at its turn."""
    for cells, lines in [
        (("a = 1", "b = a\nc = b"), ["# %% cell 2", "a = 1", "# %% cell 3", "b = a", "c = b"]),
        (
            ("%%bash\nls", "%%writefile k.py\nx = 1"),
            ["# %% cell 2", "# %%bash", "# ls", "# %% cell 3", "# %%writefile k.py", "# x = 1"],
        ),
        (
            ("a = 1", "kernel[,](a)\nb"),
            ["# %% cell 2", "a = 1", "# %% cell 3", "raise SyntaxError('cell 3 is not valid Python')", "# b"],
        ),
    ]:
        assert lines_of(*cells) == lines
    assert lines_of("display(3)")[0].startswith("display = print")  # known as it is in a notebook


def test_what_only_ipython_knows_is_left_out_and_what_it_times_is_run():
    for line, plain in [
        ("%matplotlib inline", "pass  # %matplotlib inline"),
        ("!pip install numba", "pass  # !pip install numba"),
        ("if True:\n    !ls", "if True:\n    pass  # !ls"),
        ("%time f(3)", "f(3)"),
        ("%timeit -n 10 -r3 f(x, -n)", "f(x, -n)"),
        ("t = %timeit -o -q f()", "t = f()"),
        ("files = !ls", "files = None  # files = !ls"),
        ("%%timeit\nf()", "pass  # %%timeit\nf()"),
        ("%%timeit x = 2\nf(x)", "x = 2\nf(x)"),
        ("%%capture out\nf()", "pass  # %%capture out\nf()"),
        ("%%smemviz --engine lockstep\nf()", "pass  # %%smemviz --engine lockstep\nf()"),
        ("%%smemviz mine", "pass  # %%smemviz mine"),
        ("cuda.grid?", "pass  # cuda.grid?"),
        ("?cuda.grid", "pass  # ?cuda.grid"),
        ("  x = 1\n  %time f(x)", "x = 1\nf(x)"),
    ]:
        assert lines_of(line)[1:] == plain.splitlines()


def test_the_operator_at_the_start_of_a_line_stays():
    assert lines_of("%time f(3)\nprint('%d'\n% 2)")[2:] == ["print('%d'", "% 2)"]
    assert lines_of("x = (7\n%n)")[1:] == ["x = (7", "%n)"]


def test_older_notebooks_have_their_cells_in_worksheets():
    cells = [{"cell_type": "code", "input": ["a = 1"]}, {"cell_type": "heading", "source": []}]
    assert script_of(json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}), "n").splitlines()[1] == "a = 1"


def test_what_is_no_notebook_of_python_is_refused(tmp_path):
    for text in ["", "[]", "{}", '{"cells": 3}', '{"cells": [{"source": []}]}']:
        (tmp_path / "n.ipynb").write_text(text)
        with pytest.raises(InputError, match=r"n\.ipynb: is not a notebook"):
            read_source(tmp_path / "n.ipynb")
    with pytest.raises(InputError, match="is a notebook in R, not in Python"):
        script_of(notebook("x <- 3", kernelspec={"language": "R"}), "n.ipynb")
    (tmp_path / "two.py").write_text("%matplotlib inline\nprint 'two'\n")  # no Python without magics either
    assert read_source(tmp_path / "two.py").startswith("%matplotlib")


def test_a_large_notebook_is_read_and_a_large_script_is_not(tmp_path):
    pictures = "x" * (5 << 20)
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": [], "metadata": {"pictures": pictures}}))
    assert read_source(tmp_path / "n.ipynb") == ""
    (tmp_path / "n.py").write_text(f"# {pictures}")
    with pytest.raises(InputError, match="larger than 4 MiB"):
        read_source(tmp_path / "n.py")


KERNEL = """\
import numpy as np
from numba import cuda

@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2
"""


def test_a_script_with_magics_is_run_without_them(tmp_path):
    text = f"# %%\n%matplotlib inline\n{KERNEL}a = np.arange(40.0)\nif True:\n    %time double[2, 32](a)\n"
    (tmp_path / "cells.py").write_text(text)
    (launch,) = run(tmp_path / "cells.py", engine="lockstep").launches
    assert [site.line for site in launch.sites] == [10, 10]


def test_ufuncs_of_a_script_with_magics_are_found_in_it(tmp_path):
    ufunc = (
        "from numba import vectorize\n\n@vectorize(['int64(int64)'], target='cuda')\ndef twice(x):\n    return 2 * x\n"
    )
    (tmp_path / "cells.py").write_text(f"{ufunc}\nimport numpy as np\n%timeit twice(np.arange(9))\n")
    assert len(run(tmp_path / "cells.py", engine="lockstep").launches) == 1


def recorded(folder, *cells):
    (folder / "n.ipynb").write_text(notebook(*cells))
    return run(folder / "n.ipynb", engine="lockstep")


LAUNCH = "a = np.arange(40.0)\ndouble[2, 32](a)\n"


def test_a_notebook_is_run_and_recorded_also_behind_cells_that_fail(tmp_path, capsys):
    launch = "a = np.arange(40.0)\n%time double[2, 32](a)\ndisplay(a[:3])"
    (tmp_path / "n.ipynb").write_text(notebook("%matplotlib inline", KERNEL, "1 / 0", launch, "a[40]"))
    assert main(["run", str(tmp_path / "n.ipynb"), "--engine", "lockstep"]) == 1
    shown = capsys.readouterr().out
    assert "[0. 2. 4.]" in shown
    assert "a[i]" in shown
    assert "n.ipynb:15: a cell ended with ZeroDivisionError: division by zero; 1 of the cells after it failed" in shown


def test_a_cell_that_is_recorded_by_itself_has_its_name_in_the_cells_behind_it(tmp_path):
    cell = f"%%smemviz mine --engine gpu\ntext = '''one\ntwo'''\n{KERNEL}{LAUNCH}"
    after = "assert text == 'one\\ntwo'\nassert mine['double'].sites[0].line == 14\nmine.to_pandas()"
    found = recorded(tmp_path, "%load_ext smemviz", cell, after, LAUNCH)
    assert [launch.kernel for launch in found.launches] == ["double", "double"]
    assert found.findings == ()


def test_a_launch_that_numba_refuses_ends_its_cell_only(tmp_path):
    found = recorded(tmp_path, KERNEL, LAUNCH, "double(a)", LAUNCH)
    assert [launch.kernel for launch in found.launches] == ["double", "double"]
    assert [one.message for one in found.findings] == [
        "a cell ended here: double needs a launch: double[grid, block](...)"
    ]


def test_a_kernel_that_is_refused_ends_its_cell_only(tmp_path):
    unknown = "@cuda.jit\ndef unknown(a):\n    a[0] = nowhere\n\nunknown[1, 1](a)\nprint('never')\n"
    found = recorded(tmp_path, KERNEL, LAUNCH, unknown, LAUNCH, LAUNCH, unknown)
    assert [launch.kernel for launch in found.launches] == ["double", "double", "double"]
    refused = (
        "the name nowhere is not known, in Numba either; define it or import it. "
        "This launch and the rest of its cell are missing, and what it would have stored."
    )
    assert [(one.kind, one.kernel, one.line, one.message) for one in found.findings] == [
        (LAUNCH_REFUSED, "unknown", 18, refused),
        (LAUNCH_REFUSED, "unknown", 34, refused),
    ]


def test_main_of_a_notebook_is_called_where_its_cells_do(tmp_path):
    calling = "def main(n=40):\n    double[2, 32](np.arange(float(n)))\n"
    assert len(recorded(tmp_path, KERNEL, calling, "main()\nmain(30)").launches) == 2


def test_a_notebook_of_which_nothing_is_launched_says_what_failed_first(tmp_path):
    with pytest.raises(
        KernelFileError, match=r"n\.ipynb:2: ModuleNotFoundError: No module named 'nowhere'; put nowhere"
    ):
        recorded(tmp_path, "import nowhere", KERNEL, "nowhere.go()")

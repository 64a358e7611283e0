"""Finding and running Nsight Compute, with a script in its place, and reading what it prints."""

import stat
import sys
from pathlib import Path

import pytest
from helpers import captured

from smemviz.errors import InputError, MissingError
from smemviz.measure.ncu import counters
from smemviz.measure.ncu.counters import find_ncu, profile, read_launches

SQUARE = (
    "set_row_read_row",
    "set_col_read_col",
    "set_row_read_col",
    "set_row_read_col_dyn",
    "set_row_read_col_pad",
    "set_row_read_col_dyn_pad",
)


def stand_in(folder, body):
    """Write a script that is called as Nsight Compute is; ``arguments`` are the command line."""
    script = folder / "ncu"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\narguments = sys.argv[1:]\n{body}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


PRINTS_SQUARE = f"""
if arguments[0] == "-i":
    assert Path(arguments[1]).read_text() == "report"
    page = "source" if "source" in arguments else "raw"
    print(Path({str(captured.FOLDER)!r}, f"square.{{page}}.csv").read_text())
else:
    Path(arguments[arguments.index("-o") + 1]).write_text("report")
    Path({{seen!r}}).write_text("\\n".join(arguments))
    print('==PROF== Profiling "set_row_read_row[abi:v1,cw51c..." - 0: 0%....50%....100% - 10 passes')
"""


def test_counters_of_the_square_kernels_are_those_of_the_table():
    # the figures required for compute capability 9.0: wavefronts of stores and loads, sectors stored
    shared = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op"
    found = [
        (one.kernel, *(one.metrics[f"{shared}_{op}.sum"] for op in ("st", "ld"))) for one in captured.profiled("square")
    ]
    assert found == list(zip(SQUARE, (32, 1024, 32, 32, 32, 32), (32, 1024, 1024, 1024, 32, 32), strict=True))
    assert {one.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] for one in captured.profiled("square")} == {
        128
    }


def test_the_instructions_of_a_launch_add_up_to_its_totals():
    for name in captured.NAMES:
        for launch in captured.profiled(name):
            totals = [
                sum(getattr(x, field) for x in launch.instructions) for field in ("wavefronts", "ideal", "sectors")
            ]
            assert totals == [launch.metrics[metric] for metric in counters.TOTALS], launch.kernel


def test_kernels_that_are_not_of_the_file_are_skipped_and_one_that_did_not_run_again_is_an_error():
    raw, source = captured.text("square.raw.csv"), captured.text("square.source.csv")
    launches = read_launches(raw, source, [SQUARE[1], SQUARE[4]], "square.py")
    assert [one.kernel for one in launches] == [SQUARE[1], SQUARE[4]]
    assert {one.line for one in launches[1].instructions} == {78, 80}
    with pytest.raises(InputError, match=r"^square.py: .*set_row_read_row is missing"):
        read_launches(raw, source, [SQUARE[1], SQUARE[0]], "square.py")


def test_a_metric_without_a_value_is_left_out():
    raw = '"ID","Kernel Name","gpu__time_duration.sum","memory_l1_wavefronts_shared"\n"","","ns",""\n'
    raw += '"0","set_row_read_row[v1](Array)","n/a","1,024"\n'
    launch = read_launches(raw, captured.text("square.source.csv"), [SQUARE[0]], "square.py")[0]
    assert launch.metrics == {"memory_l1_wavefronts_shared": 1024.0}


def test_the_clean_kernels_run_under_the_profiler_and_both_pages_are_read(tmp_path):
    ncu = stand_in(tmp_path, PRINTS_SQUARE.replace("{seen!r}", repr(str(tmp_path / "seen"))))
    progress: list[tuple[int, int, str]] = []
    launches = profile(ncu, Path("square.py"), {"IPAD": "2"}, SQUARE, lambda *told: progress.append(told))
    assert [one.kernel for one in launches] == list(SQUARE)
    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen[-5:-3] == ["-m", "smemviz.measure.ncu.clean"]
    assert seen[-2:] == ["square.py", "IPAD=2"]
    assert seen[seen.index("--clock-control") + 1] == seen[seen.index("--cache-control") + 1] == "none"
    assert progress == [(0, 6, "set_row_read_row under Nsight Compute")]


def test_a_failure_is_told_in_a_line(tmp_path):
    for body, error, said in [
        (
            "print('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'); sys.exit(1)",
            MissingError,
            r"ERR_NVGPUCTRPERM.*run as root, or .*NVreg_RestrictProfilingToAdminUsers=0",
        ),
        ("print('==ERROR== LibraryNotLoaded'); sys.exit(1)", MissingError, r"\(LibraryNotLoaded\)"),
        (
            "print('smemviz: mine.py:9: ValueError: on purpose'); print('==ERROR== code 2'); sys.exit(2)",
            InputError,
            r"^under Nsight Compute: mine.py:9: ValueError: on purpose$",
        ),
        ("print('==WARNING== No kernels were profiled.')", InputError, r"^mine.py: launched no kernel"),
    ]:
        with pytest.raises(error, match=said):
            profile(stand_in(tmp_path, body), Path("mine.py"), {}, SQUARE)


def test_a_run_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(counters, "MAX_SECONDS", 0.5)
    ncu = stand_in(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(InputError, match=r"did not finish within"):
        profile(ncu, Path("mine.py"), {}, SQUARE)


def test_nsight_compute_is_found_on_the_path_else_the_newest_that_is_installed(tmp_path, monkeypatch):
    ncu = stand_in(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ncu() == ncu
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(counters, "_FOLDERS", (f"{tmp_path}/*",))
    for version in ("2024.3.2", "2025.10.0", "2025.3.1"):
        (tmp_path / version).mkdir()
        stand_in(tmp_path / version, "")
    assert find_ncu() == tmp_path / "2025.10.0" / "ncu"
    monkeypatch.setattr(counters, "_FOLDERS", ())
    with pytest.raises(MissingError, match=r"ncu\) is not installed here; it comes with the CUDA toolkit"):
        find_ncu()

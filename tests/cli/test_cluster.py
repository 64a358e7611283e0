"""Points measured by a Dask cluster of processes of this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from helpers.cluster_points import die, die_once, gpu_of, read, refuse
from helpers.commands import Command

from smemviz.cli import cluster as cluster_module
from smemviz.cli.cluster import _processes_here, _require_versions, _require_workers, cluster, results
from smemviz.cli.main import main
from smemviz.errors import KernelFileError, MissingError
from smemviz.paths import installing, kernels_dir

TILE = f"{kernels_dir() / 'transpose.py'}:tile"
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def suggested(*options: str) -> list[str]:
    return ["suggest", TILE, "--engine", "lockstep", *options]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--dask", "tcp://127.0.0.1:1"), 3, r"no Dask scheduler answers at tcp://127.0.0.1:1"),
        (
            ("--dask", "smoke://signals"),
            2,
            r"'smoke://signals' is no address of a Dask scheduler: unknown address scheme 'smoke'.*; "
            r"write tcp://HOST:8786",
        ),
        (("--over", "TILE=8,32", "-o", "better.patch"), 2, r"a difference is for one choice of constants.*"),
        (
            ("--over", "TILE=8", "--over", "TILE=16"),
            2,
            r"--over TILE is there twice; write all its values in one, TILE=VALUE,VALUE",
        ),
    ],
)
def test_what_cannot_be_is_one_line(
    options: tuple[str, ...], code: int, said: str, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setattr(cluster_module, "_ANSWER_SECONDS", 0.1)
    assert re.fullmatch(f"smemviz: {said}\n", command(*suggested(*options), code=code).err)


def test_without_dask_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.setattr(cluster_module, "find_spec", lambda name: None)
    err = command(*suggested("--dask", "local"), code=3).err
    assert err == f"smemviz: --dask needs Dask: {installing('dask')}\n"


class Workers:
    """Stand in for a cluster whose workers have these versions."""

    def __init__(self, **there: str | None) -> None:
        own: dict[str, str | None] = {"python": "3.12", "distributed": "2026.1", "smemviz": "1.0"}
        self._told = {"client": {"packages": own}, "workers": {"tcp://there:1": {"packages": own | there}}}

    def wait_for_workers(self, count: int, timeout: int) -> None:
        if not self._told["workers"]:
            raise TimeoutError

    def get_versions(self, packages: list[str]) -> Any:
        return self._told


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("smemviz", "0.9", "the worker tcp://there:1 has smemviz 0.9; here it is 1.0"),
        ("smemviz", None, "the worker tcp://there:1 has smemviz not at all; here it is 1.0"),
        ("python", "3.11", "the worker tcp://there:1 has python 3.11; here it is 3.12"),
    ],
)
def test_processes_of_other_versions_are_refused(name: str, version: str | None, said: str) -> None:
    with pytest.raises(MissingError) as refused:
        _require_versions(Workers(**{name: version}))  # type: ignore[arg-type]
    assert str(refused.value) == said


def test_a_cluster_without_processes_is_refused() -> None:
    workers = Workers()
    workers._told["workers"] = {}
    with pytest.raises(MissingError, match="the Dask scheduler at tcp://there has no workers"):
        _require_workers(workers, "tcp://there")  # type: ignore[arg-type]


def test_the_processes_of_a_machine_have_the_gpus_that_this_one_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba.cuda")
    monkeypatch.setattr("smemviz.engines.backend.chosen", lambda engine: "gpu")
    monkeypatch.setattr(numba, "gpus", [object()] * 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cluster_module.gpus() == ("0", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-4a,3,5")  # CUDA leaves out what follows a name it does not know
    assert cluster_module.gpus() == ("GPU-4a", "3")
    monkeypatch.setattr("smemviz.engines.backend.chosen", lambda engine: "lockstep")
    assert cluster_module.gpus() == ()


@pytest.mark.exhaustive
def test_each_process_has_a_gpu_of_its_own_and_points_come_as_they_are_done() -> None:
    from distributed import Client

    seen: list[tuple[int, str]] = []
    known: list[int] = []

    def points() -> Iterator[tuple[int]]:
        for point in range(6):
            known.append(len(seen))
            yield (point,)

    with _processes_here(("3", "GPU-4a")) as here, Client(here) as client:
        for result in results(client, gpu_of, points()):
            seen.append(result)
    assert sorted(point for point, _ in seen) == list(range(6))
    assert {gpu for _, gpu in seen} == {"3", "GPU-4a"}
    assert known == [0, 0, 1, 2, 3, 4]  # a point is thought of when a process is free for it


@pytest.mark.exhaustive
def test_processes_that_come_later_have_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client

    known: list[int] = []
    seen: list[int] = []

    def points() -> Iterator[tuple[int]]:
        for point in range(5):
            known.append(len(seen))
            yield (point,)

    with _processes_here(("0", "1")) as here, Client(here) as client:
        all_of_them = client.scheduler_info
        monkeypatch.setattr(client, "scheduler_info", lambda **_: all_of_them() if seen else {"workers": {}})
        for point, _ in results(client, gpu_of, points()):
            seen.append(point)
    assert sorted(seen) == list(range(5))
    assert known == [0, 1, 1, 2, 3]


@pytest.mark.exhaustive
def test_a_process_of_another_version_that_comes_later_is_refused() -> None:
    from distributed import Client, Nanny

    with _processes_here(("0",)) as here, Client(here) as client:
        found = results(client, gpu_of, ((point,) for point in range(3)))
        assert next(found)[0] == 0
        older = "from distributed import versions\nversions._version_cached = lambda name: '0.1'\n"
        options = {"host": "127.0.0.1", "dashboard": False, "env": {"CUDA_VISIBLE_DEVICES": "1"}, "preload": [older]}
        here.new_spec = {"cls": Nanny, "options": options}
        here.scale(2)
        client.wait_for_workers(2)
        with pytest.raises(MissingError, match=r"^the worker tcp://127.0.0.1:\d+ has distributed 0.1; here it is "):
            list(found)


@pytest.mark.exhaustive
def test_the_points_of_a_process_that_died_are_done_again(tmp_path: Path) -> None:
    with cluster("local") as client:
        assert sorted(results(client, die_once, ((point, tmp_path) for point in range(4)))) == [0, 1, 2, 3]
        assert (tmp_path / "died").exists()
        with pytest.raises(KernelFileError, match=r"^mine\.py:7: does not do$"):
            list(results(client, refuse, [(7,)]))


@pytest.mark.exhaustive
def test_a_file_is_found_from_where_the_command_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text("here")
    with cluster("local") as client:  # whose processes stand where this one stood
        monkeypatch.chdir(tmp_path)
        assert list(results(client, read, [(Path("mine.txt"),)])) == ["here"]
        monkeypatch.setattr(cluster_module.os, "getcwd", lambda: str(tmp_path / "elsewhere"))
        with pytest.raises(MissingError, match=r"elsewhere is not there for a process on .*: No such file"):
            list(results(client, read, [(Path("mine.txt"),)]))


@pytest.mark.exhaustive
def test_a_point_that_every_process_dies_of_is_one_line() -> None:
    with cluster("local") as client, pytest.raises(MissingError, match="4 processes of the cluster died of one point"):
        list(results(client, die, [(1,)]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("error", [KernelFileError("mine.py", 7, "does not do"), None])
def test_what_goes_wrong_as_processes_end_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: KernelFileError | None
) -> None:
    from distributed.process import AsyncProcess

    async def join(process: AsyncProcess, timeout: float | None = None) -> None:
        raise AssertionError("can only join a started process")

    text = tmp_path / "mine.txt"
    text.write_text("here")
    expected = nullcontext() if error is None else pytest.raises(KernelFileError, match=r"^mine\.py:7: does not do$")
    with expected, cluster("local") as client:
        assert list(results(client, read, [(text,)])) == ["here"]
        monkeypatch.setattr(AsyncProcess, "join", join)
        if error is not None:
            raise error


@pytest.mark.exhaustive
def test_a_cluster_suggests_what_one_process_suggests(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for options in ((), ("--dask", "local")):
        assert main(suggested("--over", "TILE=16,32", "--json", *options)) == 0
        points = json.loads(capsys.readouterr().out)["points"]
        found.append(sorted(points, key=lambda one: one["constants"]["TILE"]))
    assert found[0] == found[1]
    assert [one["constants"]["TILE"] for one in found[0]] == [16, 32]


@pytest.mark.parametrize("text", ["TILE", "TILE=", "TILE=8,,16"])
def test_several_values_are_read_as_one_is(text: str, command: Command) -> None:
    assert "is not NAME=VALUE" in command(*suggested("--over", text), code=2).err

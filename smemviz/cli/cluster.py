"""Points measured by the processes of a Dask cluster: one somewhere else, or one of this machine with a process a GPU.

Which process takes a point is for Dask's scheduler, which gives those of a process that died to another.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from socket import gethostname
from typing import TYPE_CHECKING, Any, TypeVar

from smemviz.errors import InputError, MissingError
from smemviz.paths import installing

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.spec import SpecCluster

LOCAL = "local"
_ANSWER_SECONDS = 10
_START_SECONDS = 60
_SAME = ("python", "distributed", "smemviz")  # whose versions have to be those of this process
_ALONE = threading.Lock()  # of a process: what is timed on its GPU, no other point may disturb

Result = TypeVar("Result")


@contextmanager
def cluster(address: str) -> Iterator[Client]:
    """Connect to the scheduler at an address, or start processes here for as long as they are needed.

    Raises:
        MissingError: when Dask is not installed, nothing answers there, or it has no processes.
        InputError: when that is no address.
    """
    if find_spec("distributed") is None:
        raise MissingError(f"--dask needs Dask: {installing('dask')}")
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is said here
    if address == LOCAL:
        with _processes_here(gpus()) as here, Client(here) as client:
            yield client
        return
    try:
        client = Client(address, timeout=_ANSWER_SECONDS)
    except OSError:  # also a time-out
        raise MissingError(f"no Dask scheduler answers at {address}") from None
    except ValueError as error:
        raise InputError(f"{address!r} is no address of a Dask scheduler: {error}; write tcp://HOST:8786") from None
    with client:
        _require_workers(client, address)
        yield client


def results(client: Client, measure: Callable[..., Result], points: Iterable[tuple[Any, ...]]) -> Iterator[Result]:
    """Yield what ``measure`` makes of points, as it comes.

    A point is taken from ``points`` when a process is free for it, so that what came before may say what comes next;
    processes that come later have their share.

    Raises:
        MissingError: when process after process died of the same point, all are gone, or one has other versions.
        SmemvizError: what ``measure`` raises.
    """
    from distributed import KilledWorker, as_completed
    from distributed.client import FutureCancelledError

    waiting = iter(points)
    coming = as_completed([], loop=client.loop)
    checked: set[str] = set()

    def begin() -> None:
        busy = coming.count()
        workers = client.scheduler_info(n_workers=-1)["workers"]  # which come and go
        if not checked.issuperset(workers):
            checked.update(_require_versions(client))
        free = len(workers) - busy
        for point in islice(waiting, max(free, 0 if busy else 1)):
            coming.add(client.submit(_alone, os.getcwd(), measure, *point, pure=False))

    begin()
    for done in coming:
        try:
            result: Result = done.result()
        except KilledWorker as error:
            raise MissingError(f"{error.allowed_failures + 1} processes of the cluster died of one point") from None
        except FutureCancelledError:
            raise MissingError("the cluster has gone") from None
        done.release()
        yield result
        begin()


def gpus() -> tuple[str, ...]:
    """Return the GPUs of this machine that may be used, by the names that ``CUDA_VISIBLE_DEVICES`` has for them."""
    from smemviz.engines.backend import chosen

    if chosen("auto") != "gpu":
        return ()
    from numba import cuda

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return tuple(visible.split(",") if visible else map(str, range(len(cuda.gpus))))[: len(cuda.gpus)]


@contextmanager
def _processes_here(gpus: tuple[str, ...]) -> Iterator[SpecCluster]:
    """Start a process for each GPU, which sees no other, as it learns before anything loads the driver; else a core."""
    from distributed import Nanny, Scheduler, Status
    from distributed.deploy.spec import SpecCluster

    environments = [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus] or [{}] * (os.cpu_count() or 1)
    shared, quiet = {"host": "127.0.0.1", "dashboard": False}, {"silence_logs": logging.CRITICAL}
    here = SpecCluster(
        scheduler={"cls": Scheduler, "options": {**shared, "port": 0, "dashboard_address": "127.0.0.1:0"}},
        workers={
            number: {"cls": Nanny, "options": {**shared, **quiet, "nthreads": 1, "memory_limit": 0, "env": environment}}
            for number, environment in enumerate(environments)
        },
        **quiet,
    )
    try:
        yield here
    finally:
        try:
            here.close()
        except Exception:  # of Dask's, of a process that ends or begins just then; what is left ends with this process
            here.status = Status.closed


def _require_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_START_SECONDS)
    except TimeoutError:
        raise MissingError(f"the Dask scheduler at {address} has no workers") from None


def _require_versions(client: Client) -> tuple[str, ...]:
    """Return the workers, which all have the versions of this process."""
    versions = client.get_versions(packages=["smemviz"])
    own = versions["client"]["packages"]
    for worker, versions_there in versions["workers"].items():
        for name in _SAME:
            there = versions_there["packages"].get(name)
            if there != own[name]:
                raise MissingError(f"the worker {worker} has {name} {there or 'not at all'}; here it is {own[name]}")
    return tuple(versions["workers"])


def _alone(folder: str, measure: Callable[..., Result], *point: Any) -> Result:
    """Work on a point in the folder that the command was given in, from which files are named."""
    with _ALONE:
        try:
            os.chdir(folder)
        except OSError as error:
            raise MissingError(f"{folder} is not there for a process on {gethostname()}: {error.strerror}") from None
        return measure(*point)

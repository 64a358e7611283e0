"""torch without a GPU: its ``cuda`` is the CPU, whose tensors say that they are on the GPU."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

from smemviz.engines.lockstep.host import devices
from smemviz.engines.lockstep.host.host_memory import HOST_BYTES
from smemviz.engines.lockstep.host.stand_ins.modules import nothing
from smemviz.engines.process import replaced
from smemviz.model.hardware.compute_capability import device

_CUDA = re.compile(r"cuda(:\d+)?")
_COPIES = ("cuda", "cpu")  # methods that a copy is made by, on a GPU


class Stream(devices.Stream):
    """A stream in which everything has already happened."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def query(self) -> bool:
        """Tell that everything has happened."""
        return True

    def record_event(self, event: Any = None) -> Any:
        """Return an event that has happened."""
        return event or Event()

    wait_stream = wait_event = nothing


class Event(devices.Event):
    """An event that has happened; no time is between two of them."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


@contextmanager
def torch_on_cpu(capability: tuple[int, int]) -> Iterator[None]:
    """Let torch's ``cuda`` be the CPU while this lasts, as a device of a compute capability."""
    torch = importlib.import_module("torch")
    mode = importlib.import_module("torch.overrides").TorchFunctionMode
    on_cpu = type("OnCpu", (mode,), {"__torch_function__": _mapping(torch)})
    with ExitStack() as stack:
        stack.enter_context(replaced(torch.cuda, _cuda(capability)))
        stack.enter_context(replaced(torch, {"compile": _compiled, **_classes(torch)}))
        stack.enter_context(on_cpu())
        yield


def _classes(torch: Any) -> dict[str, Any]:
    """Return the classes of torch that are told a device when they are made."""
    generator, autocast = torch.Generator, torch.autocast

    def begin(self: Any, device_type: str = "cuda", *args: Any, **kwargs: Any) -> None:
        autocast.__init__(self, "cpu", *args, **kwargs)

    return {
        "Generator": type("Generator", (generator,), {"__new__": lambda cls, device=None: generator()}),
        "autocast": type("autocast", (autocast,), {"__init__": begin}),
    }


def _compiled(model: Any = None, **_: Any) -> Any:
    """Return what ``torch.compile`` is given, which does the same more slowly."""
    return model if model is not None else _compiled


def _mapping(torch: Any) -> Callable[..., Any]:
    """Return what is called in the place of every function of torch."""
    tensor = torch.Tensor
    facts: Mapping[Any, Any] = {
        tensor.device.__get__: torch.device("cuda", 0),
        tensor.is_cuda.__get__: True,
        tensor.is_cpu.__get__: False,
    }

    def host(value: Any) -> Any:
        if isinstance(value, str) and _CUDA.fullmatch(value):
            return "cpu"
        return torch.device("cpu") if isinstance(value, torch.device) and value.type == "cuda" else value

    def called(_: Any, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if function in facts:
            return facts[function]
        if function is torch.device:
            return function(*args, **(kwargs or {}))
        kwargs = {name: host(value) for name, value in (kwargs or {}).items() if name != "pin_memory"}
        name = getattr(function, "__name__", "")
        if name == "get_device":
            return 0
        if name in ("pin_memory", "record_stream"):
            return args[0]
        given = tuple(map(host, args))
        if name in _COPIES and args and isinstance(args[0], tensor):
            return args[0].clone()
        moved = function(*given, **kwargs)
        is_moved = any(isinstance(value, str | torch.device) for value in (*given[1:], *kwargs.values()))
        return moved.clone() if name == "to" and is_moved and moved is given[0] else moved

    return called


def _cuda(capability: tuple[int, int]) -> dict[str, Any]:
    """Return what ``torch.cuda`` has."""
    limits, facts = device(capability), devices.Device
    properties = SimpleNamespace(
        name="smemviz lockstep",
        major=capability[0],
        minor=capability[1],
        total_memory=HOST_BYTES,
        multi_processor_count=facts.MULTIPROCESSOR_COUNT,
        warp_size=facts.WARP_SIZE,
        max_threads_per_multi_processor=limits.multiprocessor.threads,
        regs_per_multiprocessor=facts.MAX_REGISTERS_PER_MULTIPROCESSOR,
        shared_memory_per_block=limits.static_shared,
        shared_memory_per_block_optin=limits.opt_in_shared,
        shared_memory_per_multiprocessor=limits.multiprocessor.shared_bytes,
        L2_cache_size=facts.L2_CACHE_SIZE,
        gcnArchName="",
    )

    def always(value: Any) -> Callable[..., Any]:
        return lambda *_, **__: value

    stream = Stream()
    none = ("synchronize", "empty_cache", "set_device", "init", "set_stream", "ipc_collect", "reset_peak_memory_stats")
    zero = ("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
    return {
        **dict.fromkeys(none, nothing),
        **dict.fromkeys(("manual_seed", "manual_seed_all"), nothing),  # torch.manual_seed calls these
        **dict.fromkeys(zero, always(0)),
        "is_available": always(True),
        "is_initialized": always(True),
        "is_bf16_supported": always(capability >= (8, 0)),
        "device_count": always(1),
        "get_device_name": always(properties.name),
        "get_device_capability": always(capability),
        "get_device_properties": always(properties),
        "mem_get_info": always((HOST_BYTES, HOST_BYTES)),
        "current_stream": always(stream),
        "default_stream": always(stream),
        "stream": always(stream),
        "device": always(stream),
        "Stream": Stream,
        "Event": Event,
        "utilization": always(math.nan),
    }

"""cuBLAS through what is installed, CuPy or PyTorch; where neither is, that is said."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from smemviz.messages import english

Multiply = Callable[[Any, Any, Any, Any], None]

MISSING = english("neither CuPy nor PyTorch is installed, so there is no cuBLAS to compare with")


@dataclass(frozen=True)
class Blas:
    """``multiply(c, a, b, stream)`` issues c = a b on device arrays of float32; ``name`` says which cuBLAS.

    ``captured`` tells whether that can be captured into a graph.
    """

    name: str
    multiply: Multiply
    captured: bool


def find_blas() -> Blas | None:
    """Return cuBLAS as PyTorch or CuPy calls it, None where neither is installed."""
    if importlib.util.find_spec("torch") is not None:
        return _through_torch()
    if importlib.util.find_spec("cupy") is not None:
        return _through_cupy()
    return None


def _through_cupy() -> Blas:
    cupy = importlib.import_module("cupy")

    def multiply(c: Any, a: Any, b: Any, stream: Any) -> None:
        with cupy.cuda.ExternalStream(int(stream)):
            cupy.dot(cupy.asarray(a), cupy.asarray(b), out=cupy.asarray(c))

    # CuPy 14 refuses to call cuBLAS under capture (NotImplementedError).
    version = cupy.cuda.cublas.getVersion(cupy.cuda.device.get_cublas_handle())
    return Blas(f"cuBLAS {_version(version)} through CuPy {cupy.__version__}", multiply, captured=False)


def _through_torch() -> Blas:
    torch = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False  # float32 throughout, as the kernels

    def multiply(c: Any, a: Any, b: Any, stream: Any) -> None:
        with torch.cuda.stream(torch.cuda.ExternalStream(int(stream))):
            torch.mm(*(torch.as_tensor(x, device="cuda") for x in (a, b)), out=torch.as_tensor(c, device="cuda"))

    return Blas(f"cuBLAS of CUDA {torch.version.cuda} through PyTorch {torch.__version__}", multiply, captured=True)


def _version(number: int) -> str:
    """Write cuBLAS's version number: 130200 is 13.2.0."""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

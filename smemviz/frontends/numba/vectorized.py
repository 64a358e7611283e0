"""The kernels that Numba makes of functions under ``@vectorize`` and ``@guvectorize``, as it writes them."""

import linecache
from collections.abc import Sequence
from itertools import count
from types import FunctionType
from typing import Any, cast

NUMBERS, ARRAYS = "__vectorized_", "__gufunc_"  # what Numba puts before the name of a function
_SHOWN = "vectorized_"


def shown_name(kernel: str) -> str:
    """Return the name that a kernel is shown under: Numba's names for those that it makes are others."""
    made = (kernel.removeprefix(prefix) for prefix in (NUMBERS, ARRAYS) if kernel.startswith(prefix))
    return next((f"{_SHOWN}{function}" for function in made), kernel)


def core_name(function: FunctionType) -> str:
    """Return what the kernel calls the function that it is made of."""
    return function.__name__ if function.__name__ != "<lambda>" else "function"


def _part(name: str, axes: int, kind: Any) -> str:
    """Return what a thread gives a function that takes ``kind``: of a stack of arrays one, with so many axes."""
    if axes:
        return f"{name}[i, {', '.join([':'] * axes)}]"
    return f"{name}[i:i + 1]" if hasattr(kind, "ndim") else f"{name}[i]"


def kernel_of_numbers(function: FunctionType, core: object, cuda: object) -> FunctionType:
    """Return the kernel in which each thread gives a function one number of each array, and stores its result.

    ``core`` is the function as a device function, ``cuda`` the module of both.
    """
    given = [f"a{k}" for k in range(function.__code__.co_argcount)]
    call = f"out[i] = {core_name(function)}({', '.join(f'{name}[i]' for name in given)})"
    return _kernel(function, core, cuda, [*given, "out"], call)


def kernel_of_arrays(
    function: FunctionType, core: object, cuda: object, axes: Sequence[int], kinds: Sequence[Any]
) -> FunctionType:
    """Return the kernel in which each thread gives a function one array of each stack, the results among them.

    ``axes`` says how many axes one array of each has, ``kinds`` are Numba's types of what the function takes.
    """
    names = [f"a{k}" for k in range(len(axes))]
    parts = ", ".join(_part(*one) for one in zip(names, axes, kinds, strict=True))
    return _kernel(function, core, cuda, names, f"{core_name(function)}({parts})")


def _kernel(function: FunctionType, core: object, cuda: object, names: Sequence[str], call: str) -> FunctionType:
    name = f"{_SHOWN}{core_name(function)}"
    text = f"def {name}({', '.join(names)}):\n    i = cuda.grid(1)\n    if i < {names[-1]}.shape[0]:\n        {call}\n"
    namespace: dict[str, object] = {"cuda": cuda, core_name(function): core}
    exec(compile(text, _file(core_name(function), text), "exec", dont_inherit=True), namespace)
    return cast(FunctionType, namespace[name])


def _file(name: str, text: str) -> str:
    """Return the name of a file that has this text and that ``linecache`` knows, another one for each text."""
    lines = text.splitlines(keepends=True)
    names = (f"<{name}, vectorized{f' {number}' if number > 1 else ''}>" for number in count(1))
    file = next(name for name in names if linecache.getlines(name) in ([], lines))
    linecache.cache[file] = (len(text), None, lines, file)
    return file

"""The languages that kernels are written in, one entry each: whatever differs between them is asked of it.

An entry knows what files look like, and names the modules that do the rest. Each is imported when it is first needed,
so that who writes in one language loads nothing of another.
"""

import importlib
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

View = Literal["source", "compiled"]  # the accesses as they are written, or as the compiler leaves them


class Spelling(NamedTuple):
    """What a language calls what a mistake is mended with, and how it writes an index and a quotient.

    ``repeats_work`` is whether threads of a block do the same where there is less to do than there are threads.
    """

    barrier: str
    warp_barrier: str
    warp_word: str
    atomic: str
    fence: str
    divide: str
    between_indices: str
    repeats_work: bool = False

    def element(self, array: str, indices: Sequence[object]) -> str:
        """Write an element: ``tile[r, c]``, or ``tile[r][c]``."""
        return f"{array}[{self.between_indices.join(map(str, indices))}]"

    def shape(self, sizes: Sequence[int]) -> str:
        """Write the sizes of an array as they are declared: ``(32, 33)``, or ``[32][33]``."""
        if self.between_indices == "][":
            return self.element("", sizes)
        return f"({', '.join(map(str, sizes))})"


class Language(NamedTuple):
    """A language.

    ``title`` is its name in sentences, ``lexer`` the one it has for highlighters. ``suffixes`` are the endings of its
    files; ``in_sandbox`` tells whether strangers' texts can be run, ``is_compiled`` whether files are compiled
    with options and started with arguments on the page as well. ``frontend`` names the module that reads it, a
    ``frontends.reading.Frontend``; ``runner`` what runs it, an ``engines.backend.Runner``; ``meter`` what measures it
    on a GPU, a module in each ``{room}`` that ``measure.meters`` names; ``rewriter`` what writes layouts into it, a
    ``suggest.rewrites.LayoutWriter``. A language that is not measured or rewritten leaves these empty.
    """

    title: str
    lexer: str
    suffixes: tuple[str, ...]
    spelling: Spelling
    frontend: str
    runner: str
    meter: str = ""
    rewriter: str = ""
    views: tuple[View, ...] = ("source",)
    in_sandbox: bool = False
    is_compiled: bool = False


PYTHON = Language(
    title="Python",
    lexer="python",
    suffixes=(".py", ".ipynb"),
    spelling=Spelling(
        "cuda.syncthreads()", "cuda.syncwarp()", "syncwarp", "cuda.atomic", "cuda.threadfence()", "//", ", "
    ),
    frontend="smemviz.frontends.numba.python_frontend",
    runner="smemviz.engines.python_runner",
    meter="smemviz.measure.{room}.python_{room}",
    rewriter="smemviz.suggest.python_rewriting",
    in_sandbox=True,
)
CUDA_CPP = Language(
    title="CUDA C++",
    lexer="cuda",
    suffixes=(".cu", ".cuh"),
    spelling=Spelling(
        "__syncthreads()", "__syncwarp()", "__syncwarp", "atomicAdd() or its like", "__threadfence()", "/", "]["
    ),
    frontend="smemviz.frontends.cuda.cuda_frontend",
    runner="smemviz.engines.cuda_runner",
    meter="smemviz.measure.{room}.cuda_{room}",
    rewriter="smemviz.suggest.cuda_rewriting",
    views=("source", "compiled"),
    is_compiled=True,
)
CUDA_CPP_UNITS = (".cu", ".cpp", ".cc", ".cxx")  # endings of the other files of a program
PTX = Language(
    title="PTX",
    lexer="ptx",
    suffixes=(".ptx",),
    spelling=Spelling("bar.sync 0", "bar.warp.sync", "bar.warp.sync", "atom or red", "membar.gl", "/", "]["),
    frontend="smemviz.frontends.ptx.ptx_frontend",
    runner="smemviz.engines.ptx_runner",
    meter="smemviz.measure.{room}.ptx_{room}",
)
# Of Triton, whose kernels are functions in a Python file: no language of files.
TRITON = Spelling(
    "tl.debug_barrier()",
    "tl.debug_barrier()",
    "barrier",
    "tl.atomic_add() or its like",
    "tl.atomic_add()",
    "//",
    ", ",
    repeats_work=True,
)
LANGUAGES: tuple[Language, ...] = (PYTHON, CUDA_CPP, PTX)


def language_of(file: str | PurePath) -> Language:
    """Return the language of a kernel file by its name; a file of any other name is taken for Python."""
    name = PurePath(file).name
    return next((language for language in LANGUAGES if name.endswith(language.suffixes)), PYTHON)


def spelling_of(file: str) -> Spelling:
    """Return how a kernel file's language writes."""
    return language_of(file).spelling


def is_kernel_file(path: PurePath) -> bool:
    """Tell whether a name ends as a kernel file's does."""
    return path.name.endswith(suffixes())


def suffixes() -> tuple[str, ...]:
    """Return what the names of kernel files end with."""
    return tuple(suffix for language in LANGUAGES for suffix in language.suffixes)


def loaded(module: str) -> Any:
    """Import the module that an entry names."""
    return importlib.import_module(module)

"""How the language of a kernel file writes what sentences quote of it: Python, or CUDA C++."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_CUDA_ENDINGS = (".cu", ".cuh")


@dataclass(frozen=True)
class Spelling:
    """What a language calls what a mistake is mended with, and how it writes an index and a quotient."""

    barrier: str
    warp_barrier: str
    warp_word: str
    atomic: str
    fence: str
    divide: str
    between_indices: str

    def element(self, array: str, indices: Sequence[object]) -> str:
        """Write an element: ``tile[r, c]``, or ``tile[r][c]``."""
        return f"{array}[{self.between_indices.join(map(str, indices))}]"

    def shape(self, sizes: Sequence[int]) -> str:
        """Write the sizes of an array as they are declared: ``(32, 33)``, or ``[32][33]``."""
        if self.between_indices == "][":
            return self.element("", sizes)
        return f"({', '.join(map(str, sizes))})"


PYTHON = Spelling("cuda.syncthreads()", "cuda.syncwarp()", "syncwarp", "cuda.atomic", "cuda.threadfence()", "//", ", ")
CPP = Spelling("__syncthreads()", "__syncwarp()", "__syncwarp", "atomicAdd() or its like", "__threadfence()", "/", "][")


def is_cuda_file(file: str) -> bool:
    """Whether a file is one of CUDA C++, by its name."""
    return file.endswith(_CUDA_ENDINGS)


def spelling_of(file: str) -> Spelling:
    """Return how a kernel file's language writes."""
    return CPP if is_cuda_file(file) else PYTHON

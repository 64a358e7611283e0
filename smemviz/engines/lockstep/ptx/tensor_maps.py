"""Tensor maps: what ``cuTensorMapEncodeTiled`` makes of a tensor in global memory, and where the elements of a box are.

A map is 128 bytes that only the driver can read. Those here are our own, the same that the host's side of a program in
CUDA C++ makes in ``cpp_host/runtime``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smemviz.model.layout.operand_tiles import SWIZZLE_WIDTHS, swizzled

NBYTES = 128
_MARK = 0x70614D74
_LAYOUT = np.dtype(
    [
        *(("address", "<u8"), ("mark", "<u4"), ("kind", "u1"), ("rank", "u1"), ("swizzle", "u1"), ("fill", "u1")),
        *(("sizes", "<u8", 5), ("strides", "<u8", 4), ("box", "<u2", 5), ("steps", "u1", 5), ("rest", "u1", 25)),
    ]
)
# Bytes of an element by CUtensorMapDataType, and of a row by CUtensorMapSwizzle.
_SIZES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
_FLOATS = (6, 7, 8, 9, 10, 11, 12)
_NAN = 0x7FF7  # each half of what fills a box outside of a tensor, as an H200 has it


@dataclass(frozen=True)
class TensorMap:
    """A tensor, and the box of it that an instruction copies: sizes in elements and strides in bytes, innermost first.

    ``width`` is that of the swizzle, ``fills_nan`` whether what is outside of the tensor is no number.
    """

    address: int
    kind: int
    itemsize: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    width: int
    fills_nan: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements a box has, the innermost last."""
        return tuple(-(-size // step) for size, step in zip(self.box, self.steps, strict=True))[::-1]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.itemsize

    def elements(self, at: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the addresses of a box's elements and which are in the tensor, in order; ``at`` innermost first."""
        address, inside = np.full(self.shape, self.address, np.int64), np.ones(self.shape, np.bool_)
        rank = len(self.box)
        for axis, first in enumerate(at):
            index = first + np.arange(self.shape[rank - 1 - axis]) * self.steps[axis]
            along = index.reshape([-1 if other == rank - 1 - axis else 1 for other in range(rank)])
            address = address + along * (self.strides[axis - 1] if axis else self.itemsize)
            inside = inside & (along >= 0) & (along < self.sizes[axis])
        return address.reshape(-1), inside.reshape(-1)

    def offsets(self, start: int) -> NDArray[np.int64]:
        """Return where a box's elements lie in shared memory from an address on."""
        inner = self.shape[-1]
        pitch = self.width if self.width > 16 else inner * self.itemsize
        row, column = np.divmod(np.arange(int(np.prod(self.shape))), inner)
        return swizzled(start + row * pitch + column * self.itemsize, self.width)

    def fill(self) -> NDArray[np.uint8]:
        """Return the bytes of an element outside of the tensor."""
        if self.fills_nan and self.kind in _FLOATS:
            return np.full(max(1, self.itemsize // 2), _NAN, np.uint16).view(np.uint8)[: self.itemsize]
        return np.zeros(self.itemsize, np.uint8)


def encoded(
    kind: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    steps: Sequence[int] = (),
    *,
    width: int = 16,
    fills_nan: bool = False,
) -> NDArray[np.uint8]:
    """Return a map's bytes, without the address of the tensor, which are the first 8; ``kind`` as the driver has it."""
    made = np.zeros(1, _LAYOUT)
    rank = len(sizes)
    made["mark"], made["kind"], made["rank"] = _MARK, kind, rank
    made["swizzle"], made["fill"] = SWIZZLE_WIDTHS.index(width), fills_nan
    made["sizes"][0, :rank], made["strides"][0, : rank - 1] = sizes, strides
    made["box"][0, :rank], made["steps"][0, :rank] = box, tuple(steps) or 1
    return made.view(np.uint8)


def replace_field(data: NDArray[np.uint8], name: str, axis: int, value: int) -> None:
    """Change one field of a map's bytes, where it has several that of an axis; innermost first."""
    made = data.view(_LAYOUT)
    if made[name].ndim > 1:
        made[name][0, axis] = value
    else:
        made[name][0] = value


def decoded(data: NDArray[np.uint8]) -> TensorMap | None:
    """Return what 128 bytes say, None where they are no map."""
    (made,) = np.ascontiguousarray(data).view(_LAYOUT)
    rank, kind = int(made["rank"]), int(made["kind"])
    if made["mark"] != _MARK or not 1 <= rank <= len(made["sizes"]) or kind >= len(_SIZES):
        return None
    sizes, box, steps = (tuple(made[name][:rank].tolist()) for name in ("sizes", "box", "steps"))
    strides, width = tuple(made["strides"][: rank - 1].tolist()), SWIZZLE_WIDTHS[int(made["swizzle"])]
    address, fills_nan = int(made["address"]), bool(made["fill"])
    return TensorMap(address, kind, _SIZES[kind], sizes, strides, box, steps, width, fills_nan)

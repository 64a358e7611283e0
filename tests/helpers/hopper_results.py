"""What NumPy says that the launches of ``hopper_cases`` leave."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.hopper_cases import Case, TensorMap, product_of
from helpers.hopper_kernels import swizzled

UNTOUCHED = 0xEE  # bytes of shared memory before a copy
_NAN = 0x7FF7


def expected(case: Case) -> NDArray[Any]:
    """Return the result of a launch, for every case."""
    name = case.kernel
    if name.startswith("wgmma"):
        return product_of(name)
    if name.startswith("tensor_load"):
        return _loaded(case)
    if name.startswith(("tensor_store", "tensor_reduce")):
        return _stored(case)
    if name == "multicast":
        return np.tile(_loaded(case, case.given[2]), 2)
    if name.startswith("bulk"):
        return case.out + case.given[1].view(np.int32) if name == "bulk_reduce" else case.given[1]
    if name.startswith("stmatrix"):
        return _matrices(case)
    if name == "movmatrix":
        return np.ascontiguousarray(np.arange(64, dtype=np.uint16).reshape(8, 8).T).view(np.uint32).reshape(32)
    return _cluster(*case.given[1:])


def _box(tensor: TensorMap, at: tuple[int, ...]) -> tuple[list[NDArray[np.int64]], NDArray[np.bool_]]:
    """Return the indices of the elements of a box, and which are in the tensor."""
    steps = tensor.steps or (1,) * len(at)
    axes = [first + np.arange(0, size, step) for first, size, step in zip(at, tensor.box, steps, strict=True)]
    indices = np.meshgrid(*axes[::-1], indexing="ij")
    inside = [(index >= 0) & (index < size) for index, size in zip(indices, tensor.data.shape, strict=True)]
    return indices, np.logical_and.reduce(inside)


def _in_shared(tensor: TensorMap, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return where the elements of a box lie in shared memory, which has a row of the swizzle's width for each."""
    size, inner = tensor.data.itemsize, shape[-1]
    pitch = tensor.swizzle if tensor.swizzle > 16 else inner * size
    row, column = np.divmod(np.arange(np.prod(shape)), inner)
    linear = row * pitch + column * size
    return np.asarray(swizzled(linear, tensor.swizzle) if tensor.swizzle > 16 else linear)


def _loaded(case: Case, nbytes: int = 0) -> NDArray[np.uint8]:
    tensor = case.given[1]
    indices, inside = _box(tensor, case.given[4 : 4 + len(tensor.box)])
    clipped = [np.clip(i, 0, size - 1) for i, size in zip(indices, tensor.data.shape, strict=True)]
    values = tensor.data[tuple(clipped)].copy()
    fill = np.full(tensor.data.itemsize // 2, _NAN if tensor.nan else 0, np.uint16).view(tensor.data.dtype)[0]
    values[~inside] = fill
    at = _in_shared(tensor, values.shape)
    memory = np.full(1 << 16, UNTOUCHED, np.uint8)
    memory[at[:, None] + np.arange(values.itemsize)] = values.reshape(-1, 1).view(np.uint8)
    nbytes = nbytes or len(case.out)
    if case.given[2] != values.nbytes:  # the barrier waits for other bytes than come
        memory[:4] = np.array([0xDEADBEEF], np.uint32).view(np.uint8)
    return memory[:nbytes]


def _stored(case: Case) -> NDArray[np.uint32]:
    given, tensor = case.given[:2]
    indices, inside = _box(tensor, case.given[4:])
    values = given.view(np.uint32)[_in_shared(tensor, inside.shape) // 4].reshape(inside.shape)
    result = tensor.data.copy()
    into = tuple(index[inside] for index in indices)
    result[into] = values[inside] + (result[into] if "reduce" in case.kernel else 0)
    return result


def _matrices(case: Case) -> NDArray[np.uint32]:
    _, stride, _ = case.given
    count = int(case.kernel[10])
    memory = np.zeros(32 * 144, np.uint8)
    for number in range(count):
        words = np.arange(32, dtype=np.uint32) + 100 * number
        matrix = words.view(np.uint16).reshape(8, 8)
        matrix = matrix.T if case.kernel.endswith("trans") else matrix
        for row in range(8):
            at = (8 * number + row) * stride
            memory[at : at + 16] = np.ascontiguousarray(matrix[row]).view(np.uint8)
    return memory.view(np.uint32)[: 8 * 144]


def _cluster(stride: int, what: int) -> NDArray[np.uint32]:
    """Return what 2 clusters of 4 blocks leave: what each lane got, and what is in its own memory then."""
    out = np.zeros((8, 64), np.uint32)
    lanes = np.arange(32)
    words = lanes * stride // 4
    for block in range(8):
        first, rank = block // 4 * 4, block % 4
        after, before = first + (rank + 1) % 4, first + (rank + 3) % 4
        mine = 1000 * (block + 1) + words
        got = {1: after, 3: after, 4: block, 5: first + (rank + 2) % 4}.get(what)
        out[block, :32] = 0 if got is None else 1000 * (got + 1) + words
        left = {2: 7 + (before % 4) * 100 + lanes, 3: mine + 5}.get(what, mine)
        out[block, 32:] = left
    return out

"""Requests served: how many wavefronts of shared memory they take, how many sectors of global memory, which lane when.

The rules are in ``model.hardware``. Everywhere ``addresses`` is (..., 32) of any integer type: the byte address of each
lane, -1 for a lane that is off. ``width`` is bytes per lane; for ``ldmatrix`` and ``stmatrix`` it is 16, lane i holds
the address of row i % 8 of matrix i // 8, and lanes past the last matrix are not looked at. All raise ``InputError``
for a wrong shape, a negative or misaligned address, and for what the hardware does not have; ``wavefronts`` and
``assign`` also for ``wmma_load`` and ``wmma_store``, whose addresses are not documented.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smemviz.errors import InputError
from smemviz.messages import english
from smemviz.model.counting.loops import MISTAKE, serve_rows
from smemviz.model.counting.pattern import different
from smemviz.model.hardware.hardware import H200, WARP, Hardware, Rule, shared_rule
from smemviz.model.hardware.operations import check_width, unpredictable
from smemviz.recordings.data import SECTOR_BYTES
from smemviz.recordings.vocabulary import UNCOUNTED

_CHUNK = 1 << 14  # requests; 4 MiB of addresses, and about a millisecond
_LIKE = 64  # requests like others are found as fast as Python serves one
_FEW = 3000  # requests that Python serves about as soon as the compiled loop, which has to be loaded first


class Service(NamedTuple):
    """What a set of requests took, each (...,) int64, and (..., 32, words) int64 with who went when, or empty."""

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    degree: NDArray[np.int64]
    assignment: NDArray[np.int64]


def serve(addresses: ArrayLike, rule: Rule, *, assign: bool = False) -> Service:
    """Serve requests of (..., 32) byte addresses, -1 for a lane that is off.

    Raises:
        InputError: for addresses of another shape or kind, negative ones, misaligned ones.
    """
    array = _checked(addresses)
    shape = array.shape[:-1]
    rows = array.reshape(-1, WARP)
    counts = np.zeros((3, len(rows)), np.int64)
    assignment = np.full((len(rows) if assign else 0, WARP, rule.words), -1, np.int64)
    _serve([rows], rule, counts, assignment)
    if counts[0].min(initial=0) == MISTAKE:
        raise _mistake(array, int(np.argmin(counts[0])), rule)
    wavefronts, ideal, degree = (column.reshape(shape) for column in counts)
    return Service(wavefronts, ideal, degree, assignment.reshape(*shape, WARP, rule.words) if assign else assignment)


def serve_tables(tables: Sequence[NDArray[np.int64]], rule: Rule) -> NDArray[np.int64]:
    """Return wavefronts, ideal and degree, (3, n), of the well-formed requests of several tables, one after the other.

    No more than a chunk is ever copied.
    """
    counts = np.zeros((3, sum(map(len, tables))), np.int64)
    _serve(tables, rule, counts, np.zeros((0, WARP, rule.words), np.int64))
    return counts


class _Loop:
    """The loop over requests: as Python runs it for the first few of a process that differ, and then compiled."""

    def __init__(self) -> None:
        self._left = _FEW

    def __call__(
        self, rows: NDArray[np.int64], rule: Rule, counts: NDArray[np.int64], assignment: NDArray[np.int64]
    ) -> None:
        """Serve rows of addresses, and fill in wavefronts, ideal and degree, (3, n), and who went when."""
        if self._left > 0 and not assignment.size:
            moved = _as_low(rows, rule)
            first, like, _ = different(moved)
            self._left -= len(first) + len(rows) // _LIKE
            if self._left >= 0:
                each = np.zeros((3, len(first)), np.int64)
                serve_rows(moved[first].astype(object), rule, each[0], each[1], each[2], assignment)
                counts[:] = each[:, like]
                return
        self._left -= len(assignment)
        if self._left >= 0 and assignment.size:
            serve_rows(rows.astype(object), rule, counts[0], counts[1], counts[2], assignment)
        else:
            from smemviz.model.counting import jit

            jit.serve_rows(rows, rule, counts[0], counts[1], counts[2], assignment)

    def load(self) -> None:
        """Load what is compiled, which takes its time, before the first request is served."""
        self._left = 0
        serve(np.full(WARP, -1), _rule(4, 4))


def _as_low(rows: NDArray[np.int64], rule: Rule) -> NDArray[np.int64]:
    """Move each request down by as many rows of all banks as lie below its lowest lane, which changes no count."""
    active, row_bytes = rows >= 0, lcm(rule.banks << rule.word_shift, 1 << rule.row_shift, rule.width)
    lowest = np.min(rows, axis=1, where=active, initial=np.iinfo(np.int64).max, keepdims=True)
    return np.where(active, rows - lowest // row_bytes * row_bytes, rows)


_loop = _Loop()


@cache
def load_loops() -> None:
    """Load the compiled loop, which takes its time, before the first request is served."""
    _loop.load()


def _serve(
    tables: Sequence[NDArray[np.integer]], rule: Rule, counts: NDArray[np.int64], assignment: NDArray[np.int64]
) -> None:
    """Serve the rows of tables, in parts by threads of our own."""

    def work(part: tuple[list[NDArray[np.integer]], int]) -> None:
        these, first = part
        rows = these[0] if len(these) == 1 else np.concatenate(these)
        to = slice(first, first + len(rows))
        # One type of array only, or Numba compiles the loop once for each.
        chunk = np.require(rows, np.int64, ["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])
        _loop(chunk, rule, counts[:, to], assignment[to])

    parts = list(_chunks(tables))
    if len(parts) <= 1:
        list(map(work, parts))
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, parts))


def _chunks(tables: Sequence[NDArray[np.integer]]) -> Iterator[tuple[list[NDArray[np.integer]], int]]:
    """Divide tables, one after the other, into chunks; gives the pieces of each, and the number of its first row."""
    pieces: list[NDArray[np.integer]] = []
    first = filled = 0
    for table in tables:
        at = 0
        while at < len(table):
            pieces.append(table[at : at + _CHUNK - filled])
            at += len(pieces[-1])
            filled += len(pieces[-1])
            if filled == _CHUNK:
                yield pieces, first
                pieces, first, filled = [], first + filled, 0
    if pieces:
        yield pieces, first


def _checked(addresses: ArrayLike) -> NDArray[np.integer]:
    array = np.asarray(addresses)
    if array.dtype.kind not in "iu":
        raise InputError(f"addresses must be integers, not {array.dtype}; a lane that is off is -1")
    if array.ndim == 0 or array.shape[-1] != WARP:
        raise InputError(f"addresses must have shape (..., {WARP}), one per lane, not {array.shape}")
    if array.dtype == np.uint64 and array.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError("addresses must be below 2**63; for lanes that are off use a signed type and -1")
    return array


def _mistake(array: NDArray[np.integer], row: int, rule: Rule) -> InputError:
    lanes = array.reshape(-1, WARP)[row, : rule.lanes].astype(np.int64)
    wrong = (lanes < -1) | ((lanes >= 0) & (lanes % rule.width != 0))
    lane = int(np.argmax(wrong))
    index = ", ".join(str(int(i)) for i in np.unravel_index(row, array.shape[:-1]))
    where = f"request {index}, lane {lane}" if index else f"lane {lane}"
    if lanes[lane] < 0:
        return InputError(f"{where}: address {lanes[lane]} is negative; a lane that is off is -1")
    return InputError(f"{where}: address {lanes[lane]} is not a multiple of {rule.width}, the width of the access")


class Counts(NamedTuple):
    """Three counts of each request, (...,) int64."""

    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]
    degree: NDArray[np.int64]


def count(addresses: ArrayLike, width: int, op: str = "load", hardware: Hardware = H200) -> Counts:
    """Count wavefronts, ideal and degree in one go.

    ``wavefronts`` are the passes through the data stage, 0 when all lanes are off. ``ideal`` are those it would take if
    no two different words shared a bank: its phases; on compute capability 2.x a phase of 16-byte accesses takes two
    even so. ``degree`` is the most different words any bank delivers in one phase; an atomic serves the lanes of
    one word one after the other, so there it is the most lanes in one bank.
    """
    service = serve(addresses, shared_rule(width, op, hardware))
    return Counts(service.wavefronts, service.ideal, service.degree)


def wavefronts(
    addresses: ArrayLike, width: int, op: str = "load", cc: tuple[int, int] = (9, 0), bank_bytes: int = 4
) -> NDArray[np.int64]:
    """Return how many passes through shared memory, wavefronts, each request takes; 0 when all its lanes are off.

    ``addresses`` are (..., 32) integers, the byte address of each lane in shared memory, -1 for a lane that is off;
    the answer is (...,) int64. ``width`` is bytes per lane: 1, 2, 4, 8 or 16. ``op`` is what the request does, such as
    ``load``, ``store``, ``atomic_add`` or ``ldmatrix_x4``. ``cc`` is the compute capability that serves it, and
    ``bank_bytes`` the width of a bank: 4, or 8 on 3.x.

    Example:
        import numpy as np
        import smemviz
        column = np.arange(32) * 32 * 4  # of a tile of 32 x 32 floats: every lane in the same bank
        assert smemviz.wavefronts(column, width=4) == 32
        assert smemviz.wavefronts(np.arange(32) * 33 * 4, width=4) == 1  # with a pad of one float a row

    Raises:
        InputError: for a wrong shape, width or operation, a negative or misaligned address, an unknown compute
            capability or bank width, and for ``wmma_load`` and ``wmma_store``, whose addresses are not documented.
    """
    _check_known(op)
    return count(addresses, width, op, Hardware(cc, bank_bytes)).wavefronts


def assign(addresses: ArrayLike, width: int, op: str = "load", hardware: Hardware = H200) -> NDArray[np.int64]:
    """Return which wavefront serves each word of each lane: (..., 32, words), -1 for a lane that is off.

    Wavefronts are numbered from 0 over the whole request, phase after phase. No counter tells the order inside a phase;
    by convention the k-th different word of a bank, in order of lanes, goes into the phase's k-th wavefront. There
    are as many different numbers as wavefronts.
    """
    _check_known(op)
    return serve(addresses, shared_rule(width, op, hardware), assign=True).assignment


def _check_known(op: str) -> None:
    if op in UNCOUNTED:
        what = english("{op} cannot be counted from addresses: {why}", op=op, why=unpredictable(op, "uint16"))
        raise InputError(what)


def sectors(addresses: ArrayLike, width: int) -> NDArray[np.int64]:
    """Return how many different sectors each request touches: (..., 32) byte addresses, -1 = off, to (...,).

    A sector is 32 aligned bytes of global memory. ``width`` is bytes per lane; an aligned access never straddles two
    sectors. Measured on an H200 for 4, 8 and 16 bytes, loads and stores alike.

    Example:
        import numpy as np
        import smemviz
        assert smemviz.sectors(np.arange(32) * 4, width=4) == 4  # side by side
        assert smemviz.sectors(np.arange(32) * 128, width=4) == 32  # a sector for each lane

    Raises:
        InputError: for a wrong shape or width, a negative or misaligned address.
    """
    return serve(addresses, sector_rule(width)).wavefronts


def sector_rule(width: int) -> Rule:
    """Return the rule by which a request's sectors are its wavefronts."""
    return _rule(width, SECTOR_BYTES)


def bytes_used(addresses: ArrayLike, width: int) -> NDArray[np.int64]:
    """Return how many different bytes each request asks for; it moves ``SECTOR_BYTES`` times its sectors.

    Raises:
        InputError: as ``sectors``.
    """
    return serve(addresses, _rule(width, width)).wavefronts * width


def fewest_sectors(used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many sectors would hold as many bytes as requests use."""
    return -(-used // SECTOR_BYTES)


def _rule(width: int, piece_bytes: int) -> Rule:
    """Return the rule that counts the different aligned pieces of memory a request touches, as its wavefronts."""
    check_width(width)
    shift = int(piece_bytes).bit_length() - 1
    return Rule(int(width), 1, shift, shift, 1, WARP, WARP, 1, merges=False, shares=True, more_ways=0)

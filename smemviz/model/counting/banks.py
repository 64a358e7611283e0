"""Shared memory: how many wavefronts a request takes, how many it need take, and which lane goes when.

The rules are in ``model.hardware``. Everywhere ``addresses`` is (..., 32) of any integer type: the byte address of each
lane, -1 for a lane that is off. ``width`` is bytes per lane; for ``ldmatrix`` and ``stmatrix`` it is 16, lane i holds
the address of row i % 8 of matrix i // 8, and lanes past the last matrix are not looked at. All raise ``InputError``
for a wrong shape, a negative or misaligned address, and for what the hardware does not have; all but ``count`` also for
``wmma_load`` and ``wmma_store``, whose addresses nobody tells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smemviz.errors import InputError
from smemviz.messages import english
from smemviz.model.counting.service import serve
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import unpredictable
from smemviz.model.hardware.rules import shared_rule
from smemviz.recordings.operation_names import FRAGMENTS


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
    """Return how many passes through the data stage each request takes, 0 when all its lanes are off."""
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
    if op in FRAGMENTS:
        what = english("{op} cannot be counted from addresses: {why}", op=op, why=unpredictable(op, "uint16"))
        raise InputError(what)

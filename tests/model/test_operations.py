"""Which operations can be counted from addresses, and what a count rests on."""

from __future__ import annotations

import pytest
from helpers.launches import launch, site

from smemviz.errors import InputError
from smemviz.model.hardware.operations import basis, effect_of, operation, predictable, unpredictable, weakest_basis
from smemviz.recordings.vocabulary import ATOMICS, MATRICES, OPERATIONS, REDUCTIONS

LOOP = "a compare-and-swap loop; how often it runs depends on the data."
COMPLEX = "A complex64 is two floats; where its array lies decides whether one instruction moves both."


@pytest.mark.parametrize("op", ["load", "store", "ldmatrix_x4"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64", "float64", "complex128"])
def test_loads_and_stores_can_be_counted(op: str, dtype: str) -> None:
    assert predictable(op, dtype)


# What ptxas 13.0 makes of each on 9.0: one ATOMS instruction, or a loop around ATOMS.CAS.
@pytest.mark.parametrize("name", ["add", "sub", "and", "or", "xor", "min", "max", "exch", "inc", "dec", "cas"])
def test_atomics_on_32_bit_integers_can_be_counted(name: str) -> None:
    assert predictable(f"atomic_{name}", "int32")
    assert predictable(f"atomic_{name}", "uint32")


@pytest.mark.parametrize(
    ("op", "dtype", "reason"),
    [
        ("atomic_add", "float32", f"A float atomic is {LOOP}"),
        ("reduce_max", "float64", f"A float atomic is {LOOP}"),
        (
            "atomic_add",
            "int64",
            f"A 64-bit integer atomic is {LOOP}",
        ),
        ("atomic_cas", "uint64", "The rule for atomics was measured for 32-bit integers only."),
        (
            "load",
            "complex64",
            COMPLEX,
        ),
    ],
)
def test_what_cannot_be_counted_says_why(op: str, dtype: str, reason: str) -> None:
    assert not predictable(op, dtype)
    assert unpredictable(op, dtype) == reason


def test_atomics_before_maxwell_lock_and_loop() -> None:
    assert unpredictable("atomic_add", "int32", (3, 5)) == (
        "Before compute capability 5.0 a shared atomic is a loop around a lock; its length depends on the data."
    )
    assert predictable("atomic_add", "int32", (5, 0))


def test_a_count_rests_on_a_measurement_only_where_one_was_made() -> None:
    assert basis("load", 16).kind == "measured"
    assert "H200" in basis("load", 16).source
    assert basis("load", 16).source == "Counted by Nsight Compute on an H200; an H100 counts the same."
    assert basis("atomic_min", 4).kind == "assumed"
    assert basis("ldmatrix_x4", 16).kind == "measured"
    assert basis("load", 4, (8, 0)).kind == "documented"
    assert basis("load", 8, (8, 0)).kind == basis("store", 16, (12, 0)).kind == "assumed"
    assert basis("atomic_add", 4, (8, 0)).kind == basis("ldmatrix_x4", 16, (8, 0)).kind == "assumed"
    assert "as measured on compute capability 9.0" in basis("ldmatrix_x4", 16, (8, 0)).source.lower()
    assert basis("load", 8, (3, 5)).kind == "documented"
    assert basis("load", 16, (3, 5)).kind == basis("load", 16, (2, 0)).kind == "assumed"
    assert "3.x" in basis("load", 4, (3, 5)).source


def test_launches_rest_on_the_weakest_of_what_their_sites_rest_on() -> None:
    narrow, wide = site("a", "shared", "load"), site("a", "shared", "load", 16, "complex128")
    counted = [launch((one,), []) for one in (narrow, wide)]
    assert weakest_basis(counted, (9, 0)) == "measured"
    assert weakest_basis(counted[:1], (8, 6)) == "documented"
    assert weakest_basis(counted, (8, 6)) == "assumed"
    looped = launch((narrow, site("a", "shared", "atomic_add", 4, "float32"), site("b", "global", "load", 16)), [])
    assert weakest_basis([looped], (8, 6)) == "documented"
    assert weakest_basis([], (3, 5)) == "documented"


def test_the_basis_of_what_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match=r"ldmatrix_x1 does not exist on compute capability 5\.0"):
        basis("ldmatrix_x1", 16, (5, 0))


def test_every_operation_that_a_recording_can_name_has_one_row() -> None:
    effects = {op: effect_of(op) for op in OPERATIONS}
    assert {op for op, effect in effects.items() if effect == "load"} == {
        "load", "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4", "wmma_load"
    }  # fmt: skip
    assert {op for op, effect in effects.items() if effect == "store"} == {
        "store", "stmatrix_x1", "stmatrix_x2", "stmatrix_x4", "wmma_store"
    }  # fmt: skip
    assert {op for op in OPERATIONS if not operation(op).shares} == (ATOMICS | REDUCTIONS) - {"reduce_inc"}
    assert {op: operation(op).matrices for op in OPERATIONS if operation(op).matrices} == MATRICES

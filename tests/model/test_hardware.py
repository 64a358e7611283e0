"""The table of compute capabilities, the operations that can be counted, and the hardware that counts."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from helpers.launches import launch, site
from helpers.synthetic import square_recording

from smemviz.errors import InputError
from smemviz.model.counting.service import count
from smemviz.model.hardware.compute_capability import KIB, blocks_per_multiprocessor, device, known
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.hardware.operations import basis, effect_of, operation, predictable, unpredictable, weakest_basis
from smemviz.recordings.measured import Device
from smemviz.recordings.vocabulary import ATOMICS, MATRICES, OPERATIONS, REDUCTIONS


def test_a_recording_is_counted_for_what_it_was_made_on_else_for_the_h200():
    for made_on, counted in [((8, 6), Hardware((8, 6))), ((3, 5), Hardware((3, 5), 4)), ((9, 9), H200), (None, H200)]:
        card = Device("a card", made_on, "580.1", "13.0") if made_on else None
        assert Hardware.of(replace(square_recording(), device=card)) == Hardware.on(card) == counted


def test_what_derives_from_it():
    assert (H200.banks, H200.bytes_per_wavefront) == (32, 128)
    assert (Hardware((1, 3)).banks, Hardware((1, 3)).bytes_per_wavefront) == (16, 64)
    assert [Hardware((3, 5), mode).bytes_per_wavefront for mode in (4, 8)] == [256, 256]


def test_every_generation_has_its_rows():
    assert " ".join(row.name for row in known()) == (
        "1.0 1.1 1.2 1.3 2.0 2.1 3.0 3.2 3.5 3.7 5.0 5.2 5.3 6.0 6.1 6.2 7.0 7.2 7.5"
        " 8.0 8.6 8.7 8.9 9.0 10.0 10.1 10.3 11.0 12.0 12.1"
    )


# CUDA C++ programming guide, technical specifications per compute capability.
def test_limits():
    for cc, static, opt_in, reserved, threads in [
        ((1, 3), 16, 16, 0, 512),
        ((2, 0), 48, 48, 0, 1024),
        ((3, 7), 48, 48, 0, 1024),
        ((5, 2), 48, 48, 0, 1024),
        ((6, 1), 48, 48, 0, 1024),
        ((7, 0), 48, 96, 0, 1024),
        ((7, 5), 48, 64, 0, 1024),
        ((8, 0), 48, 163, 1, 1024),
        ((8, 6), 48, 99, 1, 1024),
        ((8, 7), 48, 163, 1, 1024),
        ((8, 9), 48, 99, 1, 1024),
        ((9, 0), 48, 227, 1, 1024),
        ((10, 0), 48, 227, 1, 1024),
        ((12, 0), 48, 99, 1, 1024),
    ]:
        row = device(cc)
        limits = (row.static_shared, row.opt_in_shared, row.reserved_shared, row.max_threads, row.warp_size)
        assert limits == (static * KIB, opt_in * KIB, reserved * KIB, threads, 32)


def test_banks_and_phases():
    assert (device((1, 0)).banks, device((1, 0)).bank_bytes) == (16, (4,))
    assert (device((3, 5)).banks, device((3, 5)).bank_bytes) == (32, (4, 8))
    assert (device((9, 0)).banks, device((9, 0)).bank_bytes) == (32, (4,))
    assert dict(device((9, 0)).phases) == {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
    assert dict(device((2, 0)).phases) == {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}


def test_what_the_guides_do_not_say_is_assumed():
    kinds = {row.name: [(row.wide.get(width) or row.basis).kind for width in (4, 8, 16)] for row in known()}
    assert kinds["1.3"] == ["documented"] * 3
    assert kinds["2.0"] == kinds["3.5"] == ["documented", "documented", "assumed"]
    since_maxwell = [name for name in kinds if device(tuple(map(int, name.split(".")))).cc >= (5, 0)]  # type: ignore[arg-type]
    assert [name for name in since_maxwell if kinds[name] != ["documented", "assumed", "assumed"]] == ["9.0"]
    assert kinds["9.0"] == ["measured"] * 3


def test_a_row_cannot_be_changed():
    row = device((9, 0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.banks = 16  # type: ignore[misc]
    with pytest.raises(TypeError):
        row.phases[4] = 16  # type: ignore[index]


def test_what_does_not_exist_is_refused():
    for cc, shown in [((4, 0), "4.0"), ((9,), "9")]:
        with pytest.raises(InputError) as refusal:
            device(cc)
        assert str(refusal.value).startswith(f"compute capability {shown} is not in the table; it has: 1.0, 1.1, ")
        assert str(refusal.value).endswith(", 12.0, 12.1")
    for cc, shown in [("9.0", "'9.0'"), ([9, 0], "[9, 0]"), (90, "90"), (9.0, "9.0")]:
        with pytest.raises(InputError) as refusal:
            device(cc)  # type: ignore[arg-type]
        assert str(refusal.value) == f"a compute capability is two numbers, such as (9, 0); {shown} is not"
    for wrong, says in [
        (lambda: Hardware((9, 0), 8).banks, r"banks of compute capability 9\.0 are 4 bytes wide, not 8"),
        (lambda: blocks_per_multiprocessor(0, (9, 0), 1025), "a block has 1 to 1024 threads, not 1025"),
        (lambda: blocks_per_multiprocessor(-4, (9, 0)), "a block cannot have -4 bytes"),
        (lambda: blocks_per_multiprocessor(0, (4, 0)), "is not in the table"),
        (lambda: basis("ldmatrix_x1", 16, (5, 0)), r"ldmatrix_x1 does not exist on compute capability 5\.0"),
    ]:
        with pytest.raises(InputError, match=says):
            wrong()


def test_totals_may_stand_for_every_part_since_maxwell():
    # What ``summarize`` relies on: one rule from 5.0 on.
    addresses = np.random.default_rng(5).integers(-1, 300, (200, 32)) * 16
    addresses[addresses < 0] = -1
    for width in (1, 2, 4, 8, 16):
        for op in ("load", "store"):
            expected = [column.tolist() for column in count(addresses, width, op)]
            for row in known():
                if row.cc >= (5, 0):
                    assert [column.tolist() for column in count(addresses, width, op, Hardware(row.cc))] == expected


def test_as_many_blocks_fit_as_their_memory_and_threads_let():
    for shared_bytes, cc, threads, blocks in [
        (0, (9, 0), None, 32),
        (0, (9, 0), 1024, 2),
        (0, (9, 0), 33, 32),
        (0, (8, 6), 65, 16),
        (0, (8, 6), 97, 12),  # 4 warps of 48
        # 228 KiB, and 1 KiB is reserved in each block from 8.0 on.
        (227 * KIB, (9, 0), None, 1),
        (113 * KIB, (9, 0), None, 2),
        (113 * KIB + 1, (9, 0), None, 1),
        (37 * KIB, (9, 0), None, 6),
        (38 * KIB, (9, 0), None, 5),
        (227 * KIB + 1, (9, 0), None, 0),
        (100 * KIB, (8, 6), None, 0),
        (32 * KIB, (7, 0), None, 3),
        (32 * KIB + 1, (7, 0), None, 2),
        (16 * KIB, (7, 0), None, 6),
        (64 * KIB, (7, 5), None, 1),
        (48 * KIB, (3, 5), None, 1),
        (49 * KIB, (3, 7), None, 0),
        (32 * KIB, (3, 7), None, 3),
        (4 * KIB, (1, 0), 256, 3),
        # 64 x 64 floats are 16 KiB; 17 KiB with what is reserved, of which 13 go into 228. A pad can cost a block.
        (64 * 64 * 4, (9, 0), None, 13),
        (64 * 65 * 4, (9, 0), None, 13),
        (64 * 69 * 4, (9, 0), None, 12),
    ]:
        assert blocks_per_multiprocessor(shared_bytes, cc, threads) == blocks


def test_every_part_has_a_multiprocessor_that_takes_its_largest_block():
    for row in known():
        found = row.multiprocessor
        assert found.shared_bytes >= row.opt_in_shared + row.reserved_shared
        assert blocks_per_multiprocessor(row.opt_in_shared, row.cc, row.max_threads) >= 1


LOOP = "a compare-and-swap loop; how often it runs depends on the data."
LOCK = "Before compute capability 5.0 a shared atomic is a loop around a lock; its length depends on the data."
COMPLEX = "A complex64 is two floats; where its array lies decides whether one instruction moves both."


def test_loads_stores_and_atomics_on_32_bit_integers_can_be_counted():
    """What ptxas 13.0 makes of an atomic on 9.0: one ATOMS instruction, or a loop around ATOMS.CAS."""
    for dtype in ["bool", "int8", "float16", "float32", "int64", "float64", "complex128"]:
        assert [predictable(op, dtype) for op in ("load", "store", "ldmatrix_x4")] == [True] * 3, dtype
    for name in ["add", "sub", "and", "or", "xor", "min", "max", "exch", "inc", "dec", "cas"]:
        assert predictable(f"atomic_{name}", "int32")
        assert predictable(f"atomic_{name}", "uint32")


def test_what_cannot_be_counted_says_why():
    for op, dtype, cc, reason in [
        ("atomic_add", "float32", (9, 0), f"A float atomic is {LOOP}"),
        ("reduce_max", "float64", (9, 0), f"A float atomic is {LOOP}"),
        ("atomic_add", "int64", (9, 0), f"A 64-bit integer atomic is {LOOP}"),
        ("atomic_cas", "uint64", (9, 0), "The rule for atomics was measured for 32-bit integers only."),
        ("load", "complex64", (9, 0), COMPLEX),
        ("atomic_add", "int32", (3, 5), LOCK),
        ("atomic_add", "int32", (5, 0), None),
    ]:
        assert unpredictable(op, dtype, cc) == reason
        assert predictable(op, dtype, cc) == (reason is None)


def test_a_count_rests_on_a_measurement_only_where_one_was_made():
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


def test_launches_rest_on_the_weakest_of_what_their_sites_rest_on():
    narrow, wide = site("a", "shared", "load"), site("a", "shared", "load", 16, "complex128")
    counted = [launch((one,), []) for one in (narrow, wide)]
    assert weakest_basis(counted, (9, 0)) == "measured"
    assert weakest_basis(counted[:1], (8, 6)) == "documented"
    assert weakest_basis(counted, (8, 6)) == "assumed"
    looped = launch((narrow, site("a", "shared", "atomic_add", 4, "float32"), site("b", "global", "load", 16)), [])
    assert weakest_basis([looped], (8, 6)) == "documented"
    assert weakest_basis([], (3, 5)) == "documented"


def test_every_operation_that_a_recording_can_name_has_one_row():
    effects = {op: effect_of(op) for op in OPERATIONS}
    assert {op for op, effect in effects.items() if effect == "load"} == {
        "load", "ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4", "wgmma", "wmma_load", "bulk_load", "cluster_load",
        "mbarrier_load"
    }  # fmt: skip
    assert {op for op, effect in effects.items() if effect == "store"} == {
        "store", "stmatrix_x1", "stmatrix_x2", "stmatrix_x4", "wmma_store", "bulk_store", "cluster_store"
    }  # fmt: skip
    apart = ATOMICS | REDUCTIONS | {"cluster_update", "mbarrier_update"}
    assert {op for op in OPERATIONS if not operation(op).shares} == apart - {"reduce_inc"}
    assert {op: operation(op).matrices for op in OPERATIONS if operation(op).matrices} == MATRICES

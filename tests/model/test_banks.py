"""Known figures, the brute-force twin on anything Hypothesis thinks of, and every refusal."""

import subprocess
import sys

import numpy as np
import pytest
from helpers import brute_force
from hypothesis import given
from hypothesis import strategies as st

from smemviz.errors import InputError
from smemviz.model.counting import service
from smemviz.model.counting.service import assign, count, serve, wavefronts
from smemviz.model.hardware.compute_capability import known
from smemviz.model.hardware.hardware import H200, Hardware, shared_rule
from smemviz.model.hardware.operations import effect_of
from smemviz.recordings.vocabulary import MATRICES, OPERATIONS, UNCOUNTED, WIDTHS

LANE = np.arange(32)


def triple(addresses, width, op="load", cc=(9, 0), bank_bytes=4):
    return [int(n) for n in count(addresses, width, op, Hardware(cc, bank_bytes))]  # type: ignore[arg-type]


# -- known figures: (wavefronts, ideal, degree)


def test_square_tile_of_ints():
    for op in ["load", "store"]:
        # Document 004, counted on the H200: 32 warps, 32 or 1,024 wavefronts.
        ty, tx = LANE[:, None], LANE[None, :]
        assert [wavefronts(at * 4, 4, op).sum() for at in (ty * 32 + tx, tx * 32 + ty, tx * 33 + ty)] == [32, 1024, 32]


KEPLER, FERMI, TESLA = (3, 5), (2, 0), (1, 3)
TWO_COLUMNS = (LANE % 16 * 32 + LANE // 16) * 4  # of 16 rows of 32 ints, which a warp reads


def test_what_is_known_of_a_request():
    for addresses, width, op, cc, found in [
        # HARDWARE: 8-way in banks of 8 bytes and 16-way everywhere else, both quoted in the literature.
        (TWO_COLUMNS, 4, "load", (*KEPLER, 8), [8, 1, 8]),
        (TWO_COLUMNS, 4, "load", (9, 0), [16, 1, 16]),
        (TWO_COLUMNS, 4, "load", (5, 0), [16, 1, 16]),
        # CUDA C programming guide, 3.x: in 4-byte mode words 32 apart in a segment of 64 go together.
        (LANE * 128, 4, "load", KEPLER, [16, 1, 16]),
        (LANE * 8, 4, "load", KEPLER, [1, 1, 1]),
        (LANE * 8, 4, "load", (9, 0), [2, 1, 2]),
        # 33 doubles a row: 16 lanes of a phase on 32 different banks. Unpadded, all 16 on the same two.
        (LANE * 33 * 8, 8, "load", (9, 0), [2, 2, 1]),
        (LANE * 32 * 8, 8, "load", (9, 0), [32, 2, 16]),
        (LANE * 16, 16, "load", (9, 0), [4, 4, 1]),  # contiguous float4
        (LANE * 16, 16, "store", (9, 0), [4, 4, 1]),
        # A broadcast merges the phases of loads, not those of stores.
        *((np.full(32, 64), width, "load", (9, 0), [n, n, 1]) for width, n in ((4, 1), (8, 1), (16, 2))),
        *((np.full(32, 64), width, "store", (9, 0), [n, n, 1]) for width, n in ((4, 1), (8, 2), (16, 4))),
        # An inactive partner is a partner.
        (np.where(LANE % 2 == 0, LANE // 2 * 8, -1), 8, "load", (9, 0), [1, 1, 1]),
        (np.where(LANE % 2 == 0, LANE // 2 * 8, -1), 8, "store", (9, 0), [2, 2, 1]),
        (LANE, 1, "store", (9, 0), [1, 1, 1]),  # bytes of one word
        (LANE * 2, 2, "store", (9, 0), [1, 1, 1]),
        # Atomics take the lanes of a word one by one, a population count does not.
        (np.zeros(32, int), 4, "atomic_add", (9, 0), [32, 1, 32]),
        (np.zeros(32, int), 4, "reduce_add", (9, 0), [32, 1, 32]),
        (np.zeros(32, int), 4, "reduce_inc", (9, 0), [1, 1, 1]),
        (LANE * 128, 4, "reduce_inc", (9, 0), [32, 1, 32]),
        (LANE // 2 * 4, 4, "atomic_cas", (9, 0), [2, 1, 2]),
        # 2.x serves doubles by half-warp and does not merge.
        (LANE * 8, 8, "load", FERMI, [2, 2, 1]),
        (np.zeros(32, int), 8, "load", FERMI, [2, 2, 1]),
        # CUDA C programming guide, 2.x: most 128-bit accesses are 2-way, even if no lanes of a quarter-warp collide;
        # one must add 1 to the ways of the quarter-warp.
        (LANE * 16, 16, "load", FERMI, [8, 8, 2]),
        (LANE * 32, 16, "load", FERMI, [12, 8, 3]),
        (LANE % 8 * 128, 16, "store", (2, 1), [36, 8, 9]),
        (np.where(LANE < 4, LANE * 16, -1), 16, "load", FERMI, [2, 2, 2]),
        # 1.x serves half-warps on 16 banks, and splits doubles in two 4-byte requests: 2-way conflicts, says its guide.
        (LANE * 4, 4, "load", TESLA, [2, 2, 1]),
        (LANE * 64, 4, "load", TESLA, [32, 2, 16]),
        (LANE * 8, 8, "load", TESLA, [8, 4, 2]),
        (np.where(LANE < 8, LANE * 16, -1), 16, "store", (9, 0), [1, 1, 1]),  # a phase without an active lane
    ]:
        assert triple(addresses, width, op, cc[:2], *cc[2:]) == found  # type: ignore[arg-type]


def test_phases_merge_only_when_one_pairing_holds_for_the_whole_warp():
    by_one, by_two = LANE // 2, LANE // 4 * 2 + LANE % 2
    assert wavefronts(by_one * 8, 8) == 1
    assert wavefronts(by_two * 8, 8) == 1
    # One half each: two phases, although the same 16 doubles are read.
    assert wavefronts(np.where(LANE < 16, by_one, by_two) * 8, 8) == 2


def test_matrices_look_only_at_the_rows_they_have():
    # Rows 128 bytes apart put all 8 rows of a matrix on the same 4 banks.
    assert [int(wavefronts(LANE * 128, 16, f"ldmatrix_x{n}")) for n in (1, 2, 4)] == [8, 16, 32]
    assert [int(wavefronts(LANE * 16, 16, f"stmatrix_x{n}")) for n in (1, 2, 4)] == [1, 2, 4]
    past_the_rows = np.where(LANE < 8, LANE * 16, -77)
    assert wavefronts(past_the_rows, 16, "ldmatrix_x1") == 1
    assert (assign(LANE * 16, 16, "ldmatrix_x2")[16:] == -1).all()


@given(stride=st.integers(0, 40), on=st.lists(st.booleans(), min_size=32, max_size=32))
def test_on_fermi_too_as_many_wavefronts_are_assigned_as_are_counted(stride, on):
    addresses = np.where(on, LANE * 16 * stride, -1)
    numbers = set(assign(addresses, 16, hardware=Hardware((2, 0))).ravel().tolist()) - {-1}
    assert numbers == set(range(int(wavefronts(addresses, 16, cc=(2, 0)))))


def test_no_active_lane_takes_nothing():
    for op, width in (("load", 4), ("load", 16), ("store", 8), ("atomic_add", 4), ("ldmatrix_x4", 16)):
        assert triple(np.full(32, -1), width, op) == [0, 0, 0]
        assert (assign(np.full(32, -1), width, op) == -1).all()


def test_a_drawing_may_have_any_number_of_banks():
    # Document 004 draws padding with 5 banks: a column of a 5-word wide tile is one bank, padded by one all five.
    five = shared_rule(4, "load", H200)._replace(banks=5, row_shift=2)
    column = np.where(LANE < 5, LANE, -1)
    for words_per_row, expected in ((5, 5), (6, 1)):
        addresses = np.where(column >= 0, column * words_per_row * 4, -1)
        served = serve(addresses, five, assign=True)
        assert (served.wavefronts, served.ideal, served.degree) == (expected, 1, expected)
        assert served.assignment[:5, 0].tolist() == [lane % expected for lane in range(5)]


# -- shapes and types


def test_any_leading_shape():
    for shape in [(), (1,), (0,), (3,), (2, 3), (2, 0, 3)]:
        addresses = np.broadcast_to(LANE * 8, (*shape, 32))
        for found in (wavefronts(addresses, 8), *count(addresses, 8)):
            assert found.shape == shape
            assert found.dtype == np.int64
        assert wavefronts(addresses, 8).sum() == 2 * np.prod(shape, dtype=int)
        assert assign(addresses, 8).shape == (*shape, 32, 2)


def test_any_integer_type_and_memory_order():
    for dtype in [np.uint8, np.int16, np.uint32, np.int64, np.uint64, ">i4"]:
        addresses = np.stack([LANE * 4, LANE % 8 * 16]).astype(dtype)
        assert wavefronts(addresses, 4).tolist() == [1, 1]
        assert wavefronts(np.asfortranarray(addresses), 4).tolist() == [1, 1]
        assert wavefronts(addresses[:, ::-1], 4).tolist() == [1, 1]
        addresses.flags.writeable = False
        assert wavefronts(addresses, 4).tolist() == [1, 1]
        assert wavefronts(addresses.tolist(), 4).tolist() == [1, 1]


def test_more_requests_than_one_thread_takes_keep_their_order():
    stride = np.arange(50_000) % 33
    counted = wavefronts(LANE * 4 * stride[:, None], 4)
    expected = [int(wavefronts(LANE * 4 * s, 4)) for s in range(33)]
    assert counted.tolist() == [expected[s] for s in stride]


# -- the brute-force twin


MODES = [(row.cc, mode) for row in known() for mode in row.bank_bytes]
KINDS = [
    (op, width)
    for op in sorted(OPERATIONS - UNCOUNTED)  # whose wavefronts do not follow from addresses
    for width in ((16,) if op in MATRICES else (4,) if effect_of(op) == "update" else WIDTHS)
]


def exists(op, cc):
    return (
        cc >= (5, 0)
        if effect_of(op) == "update"
        else cc >= ((7, 5) if op.startswith("ld") else (9, 0))
        if op in MATRICES
        else True
    )


@st.composite
def addresses_of(draw, width):
    """Draw scattered, strided and paired lanes, some of them off."""
    match draw(st.sampled_from(["scattered", "strided", "paired"])):
        case "scattered":
            index = draw(st.lists(st.integers(0, draw(st.sampled_from([7, 300, 1 << 20]))), min_size=32, max_size=32))
        case "strided":
            stride = draw(st.integers(0, 70))
            first = draw(st.integers(0, 99))
            index = [first + stride * lane for lane in range(32)]
        case _:
            values = draw(st.lists(st.integers(0, 300), min_size=32, max_size=32))
            distance = draw(st.sampled_from([1, 2]))
            index = [values[lane & ~distance] for lane in range(32)]
    off = draw(st.one_of(st.just(set()), st.sets(st.integers(0, 31))))
    return [-1 if lane in off else index[lane] * width for lane in range(32)]


@st.composite
def cases(draw):
    cc, mode = draw(st.sampled_from(MODES))
    op, width = draw(st.sampled_from([kind for kind in KINDS if exists(kind[0], cc)]))
    return draw(addresses_of(width)), width, op, cc, mode


@given(cases())
def test_counts_equal_the_brute_force_twin(case):
    assert tuple(triple(*case)) == brute_force.count(*case)


@given(cases(), st.lists(st.tuples(st.integers(0, 200), st.integers(-1, 31), st.booleans()), min_size=1, max_size=20))
def test_requests_that_are_like_one_before_are_counted_as_by_themselves(case, others):
    row, width, op, cc, mode = case
    rows = [row]
    for by, lane, off in others:
        moved = [address + by * width if address >= 0 else -1 for address in row]
        if lane >= 0:  # almost like it
            moved[lane] = -1 if off else max(moved[lane], 0) + width
        rows.append(moved)
    together = count(rows, width, op, Hardware(cc, mode))
    for one, *found in zip(rows, *together, strict=True):
        assert tuple(map(int, found)) == brute_force.count(one, width, op, cc, mode)


@pytest.mark.exhaustive
@given(cases(), st.lists(st.integers(0, 5000), max_size=5), st.booleans())
def test_the_first_requests_of_a_process_are_served_as_later_ones(case, moves, assigns):
    row, width, op, cc, mode = case
    rows = np.array([[at + by * width if at >= 0 else -1 for at in row] for by in (0, *moves)])
    rule = shared_rule(width, op, Hardware(cc, mode))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "_loop", service._Loop())
        first = serve(rows, rule, assign=assigns)
        service._loop.load()
        later = serve(rows, rule, assign=assigns)
    assert [part.tolist() for part in first] == [part.tolist() for part in later]


@pytest.mark.exhaustive
def test_the_first_requests_of_a_process_wait_for_no_machine_code():
    script = """
import numpy as np
from smemviz.model.counting.service import wavefronts
from smemviz.model.counting.jit import serve_rows
rows = 8 * np.arange(32) + 4096 * np.arange(5000)[:, None]
assert wavefronts(rows, 4).tolist() == [2] * 5000 and not serve_rows.signatures
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


@given(cases())
def test_assignment_equals_the_brute_force_twin(case):
    *asked, cc, bank_bytes = case
    assigned = assign(*asked, Hardware(cc, bank_bytes))  # type: ignore[arg-type]

    assert assigned.tolist() == brute_force.assign(*case)
    assert len(set(assigned.ravel().tolist()) - {-1}) == wavefronts(*case)


# -- refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(31, int), 4), r"addresses must have shape (..., 32), one per lane, not (31,)"),
        ((np.int64(3), 4), r"addresses must have shape (..., 32), one per lane, not ()"),
        (([], 4), r"addresses must be integers, not float64; a lane that is off is -1"),
        ((np.zeros(32), 4), r"addresses must be integers, not float64; a lane that is off is -1"),
        ((np.zeros(32, bool), 4), r"addresses must be integers, not bool; a lane that is off is -1"),
        (
            (np.full(32, 2**64 - 1, np.uint64), 4),
            "addresses must be below 2**63; for lanes that are off",
        ),
        ((LANE - 2, 1), "lane 0: address -2 is negative; a lane that is off is -1"),
        ((np.stack([LANE * 4, LANE * 4 - 8]), 4), "request 1, lane 0: address -8 is negative"),
        (
            (np.stack([[LANE * 8, LANE * 4]] * 2), 8),
            "request 0, 1, lane 1: address 4 is not a multiple of 8",
        ),
        ((LANE, 3), "a lane cannot access 3 bytes; the widths are 1, 2, 4, 8 and 16"),
        ((LANE, "4"), "a lane cannot access '4' bytes"),
        ((LANE, 4, "add"), "unknown operation 'add'; known: atomic_add, atomic_and, "),
        ((LANE * 8, 8, "atomic_add"), "atomic_add of 8 bytes cannot be counted ahead; only 32-bit integers can"),
        ((LANE * 4, 4, "ldmatrix_x4"), "ldmatrix_x4 reads rows of 16 bytes, not 4"),
        ((LANE, 16, "ldmatrix_x4", (7, 0)), "ldmatrix_x4 does not exist on compute capability 7.0; it came with 7.5"),
        ((LANE, 16, "stmatrix_x4", (8, 9)), "stmatrix_x4 does not exist on compute capability 8.9; it came with 9.0"),
        ((LANE, 4, "atomic_add", (3, 5)), "atomic_add cannot be counted ahead on compute capability 3.5: Before"),
        ((LANE, 4, "load", (9, 9)), "compute capability 9.9 is not in the table; it has: 1.0, 1.1"),
        ((LANE, 4, "load", (9, 0), 8), "banks of compute capability 9.0 are 4 bytes wide, not 8"),
        ((LANE, 4, "load", (3, 5), 16), "banks of compute capability 3.5 are 4 or 8 bytes wide, not 16"),
    ],
)
def test_a_mistake_gets_one_clear_line(arguments, message):
    hardware = Hardware(*arguments[3:])  # type: ignore[arg-type]
    for call in (
        lambda: wavefronts(*arguments),  # type: ignore[arg-type]
        lambda: count(*arguments[:3], hardware=hardware),  # type: ignore[arg-type]
        lambda: assign(*arguments[:3], hardware=hardware),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError) as refusal:
            call()
        assert str(refusal.value).startswith(message)
        assert "\n" not in str(refusal.value)


def test_a_mistake_among_many_requests_is_found():
    addresses = np.tile(LANE * 4, (40_000, 1))
    addresses[33_333, 7] = 6
    with pytest.raises(InputError, match=r"^request 33333, lane 7: address 6 is not a multiple of 4"):
        wavefronts(addresses, 4)

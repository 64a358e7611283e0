"""Every count that Nsight Compute made on an H200, one warp and one access per launch."""

import csv
from pathlib import Path

import numpy as np

from smemviz.model.counting.service import assign, count, sectors, wavefronts
from smemviz.model.hardware.operations import basis, effect_of
from smemviz.model.layout.accesses import access_of, totals
from smemviz.model.layout.array_requests import ArrayRequests
from smemviz.model.layout.layouts import Layout
from smemviz.model.layout.search import score
from smemviz.recordings.vocabulary import MATRICES, OPERATIONS, UNCOUNTED, WIDTHS

Key = tuple[str, str, int]


def read_counters():
    """Return rows of (measured, lane 0 .. lane 31) by space, operation and width."""
    rows: dict[Key, list[list[int]]] = {}
    with (Path(__file__).parents[1] / "data" / "h200_counters.csv").open(newline="") as file:
        for space, op, width, *numbers in list(csv.reader(file))[1:]:
            rows.setdefault((space, op, int(width)), []).append([int(n) for n in numbers])
    return {key: np.array(value) for key, value in rows.items()}


COUNTERS = read_counters()
SHARED = [key for key in COUNTERS if key[0] == "shared"]


def test_the_file_holds_all_measurements():
    assert sum(map(len, COUNTERS.values())) == 1660


def test_the_model_counts_what_the_hardware_counted():
    for key in COUNTERS:
        space, op, width = key
        measured, addresses = COUNTERS[key][:, 0], COUNTERS[key][:, 1:]

        counted = sectors(addresses, width) if space == "global" else wavefronts(addresses, width, op)

        np.testing.assert_array_equal(counted, measured)


def test_as_many_wavefronts_are_assigned_as_the_hardware_counted():
    for key in SHARED:
        _, op, width = key
        assigned = assign(COUNTERS[key][:, 1:], width, op).reshape(len(COUNTERS[key]), -1)

        different = [len(set(row.tolist()) - {-1}) for row in assigned]

        assert different == COUNTERS[key][:, 0].tolist()


def test_the_hardware_never_beat_the_ideal():
    for key in SHARED:
        _, op, width = key
        assert (count(COUNTERS[key][:, 1:], width, op).ideal <= COUNTERS[key][:, 0]).all()


# Measured with other instructions of Hopper's, see ``test_hopper_measured``.
ELSEWHERE = ("stmatrix_x1", "stmatrix_x2", "wgmma")


def test_measured_are_exactly_the_operations_and_widths_in_the_file():
    for op in OPERATIONS - UNCOUNTED:
        for width in (16,) if op in MATRICES else (4,) if effect_of(op) == "update" else WIDTHS:
            known = ("shared", op, width) in COUNTERS or op in ELSEWHERE
            expected = "measured" if known else "assumed"
            assert basis(op, width).kind == expected, (op, width)


def test_every_measured_request_costs_as_much_through_a_layout():
    # All 1,480 of them, their addresses taken for elements as wide as the access.
    assert sum(len(COUNTERS[key]) for key in SHARED) == 1480
    for _, op, width in SHARED:
        dtype = {1: "int8", 2: "int16", 4: "int32", 8: "int64", 16: "complex128"}[width]
        counted, addresses = COUNTERS["shared", op, width][:, 0], COUNTERS["shared", op, width][:, 1:]
        element = np.where(addresses < 0, -1, addresses // width)
        size = int(element.max()) + 1
        for layout in (Layout((size,), dtype), Layout((size,), dtype, base=1024)):
            asked = [
                ArrayRequests(-1, op, width, np.where(one < 0, -1, one * width)[None], np.ones(1, np.int64))
                for one in element
            ]
            assert [score(one, width, layout).wavefronts for one in asked] == counted.tolist(), (op, width)


def test_measured_fragments_and_wide_accesses_cost_as_much_as_a_formula():
    # Typed by hand: what lies at a stride of units in the file is the formula `lane * stride`.
    found = 0
    wide = ((op, width, row.tolist()) for _, op, width in SHARED for row in COUNTERS["shared", op, width])
    for op, width, (counted, *addresses) in wide:
        if width < 8 and "matrix" not in op:
            continue
        stride, rest = divmod(addresses[1] - addresses[0], width)
        if rest or stride < 0 or any(address != lane * stride * width for lane, address in enumerate(addresses)):
            continue
        layout = Layout((31 * stride * width // 4 + width // 4,), "int32")
        access = access_of(f"lane * {stride * width // 4}; op={op}; width={width}")
        assert totals(access, layout).wavefronts == counted, access.text
        found += 1
    assert found > 10

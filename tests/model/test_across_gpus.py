"""What one access costs on every GPU, and which rule makes the difference."""

import numpy as np
import pytest

from smemviz.errors import InputError
from smemviz.model.counting.service import count
from smemviz.model.hardware.compute_capability import known
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.model.layout.across_gpus import Access, Cost, cost_on, on_every_gpu

LANES = np.arange(32)


def access(stride, width, op="load", dtype="int32"):
    return Access(LANES[np.newaxis] * stride, width, op, dtype)


def gpu(gpus, family, bank_bytes=4):
    return next(one for one in gpus if one.rows[0].family == family and one.bank_bytes == bank_bytes)


def test_every_compute_capability_and_bank_mode_is_there_once():
    found = [(row.cc, one.bank_bytes) for one in on_every_gpu(access(4, 4), H200) for row in one.rows]
    assert sorted(found) == sorted((row.cc, mode) for row in known() for mode in row.bank_bytes)


def test_the_steps_lead_from_the_reference_to_the_part():
    """The last exchange leaves nothing of the reference: the count is the GPU's own."""
    for stride in [8, 16, 64, 264]:
        for reference in [H200, Hardware((3, 5), 8), Hardware((1, 0)), Hardware((2, 0))]:
            asked = access(stride, 8)
            for one in on_every_gpu(asked, reference):
                direct = count(asked.addresses, 8, "load", Hardware(one.rows[0].cc, one.bank_bytes))
                assert one.cost == Cost(*(int(column[0]) for column in direct))
                if one.steps:
                    assert one.steps[0].before == cost_on(asked, reference)
                    assert one.steps[-1].after == one.cost
                    assert [a.after for a in one.steps[:-1]] == [b.before for b in one.steps[1:]]


def test_a_broadcast_of_pairs_shows_the_merge_rule():
    """8-byte loads whose lanes pair up take one group of 32 since 5.0 (H200); 2.x serves half-warps all the same."""
    asked = Access(LANES[np.newaxis] // 2 * 8, 8, "load", "float64")
    gpus = on_every_gpu(asked, H200)
    assert gpu(gpus, "Hopper").cost == Cost(1, 1, 1)
    fermi = gpu(gpus, "Fermi")
    assert fermi.cost == Cost(2, 2, 1)
    assert [(step.respect, step.before.wavefronts, step.after.wavefronts) for step in fermi.steps] == [
        ("merging", 1, 2)
    ]


def test_fermi_has_one_way_more_for_16_bytes():
    fermi = gpu(on_every_gpu(access(16, 16, dtype="complex128"), H200), "Fermi")
    assert fermi.cost == Cost(8, 8, 2)
    assert fermi.basis.kind == "assumed"
    assert [(step.respect, step.before, step.after) for step in fermi.steps] == [
        ("merging", Cost(4, 4, 1), Cost(4, 4, 1)),
        ("ways", Cost(4, 4, 1), Cost(8, 8, 2)),
    ]


def test_what_cannot_be_counted_says_why():
    gpus = on_every_gpu(access(16, 16, "stmatrix_x4", "float16"), H200)
    ada = gpu(gpus, "Ada")
    assert (ada.cost, ada.basis) == (None, None)
    assert ada.reason == "stmatrix_x4 does not exist on compute capability 8.9; it came with 9.0"
    with pytest.raises(InputError, match="compare-and-swap loop"):
        cost_on(access(4, 4, "atomic_add", "float32"), H200)

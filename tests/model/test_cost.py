import pytest

from smemviz.model.hardware.cost import MULTIPROCESSORS, Excess, cost, judge

LOADS = [Excess("store", 4, 0), Excess("load", 4, 992)]


def test_without_calibration_a_wavefront_takes_the_documented_clock() -> None:
    found = cost(LOADS, 1, {}, 132, 1984.0)
    assert (found.wavefronts, found.cycles, found.calibrated) == (992, 992.0, False)
    assert found.lost_us == 0.5  # 992 cycles at 1,984 per microsecond


def test_each_operation_and_width_has_its_own_calibrated_cycles() -> None:
    slopes = {"load 4": 1.5, "atomic_add 4": 2.0}
    found = cost([Excess("load", 4, 100), Excess("atomic_add", 4, 10)], 1, slopes, 132, 100.0)
    assert (found.cycles, found.lost_us, found.calibrated) == (170.0, 1.7, True)


def test_one_operation_that_was_not_calibrated_is_said_unless_it_has_no_excess() -> None:
    assert not cost([*LOADS, Excess("load", 8, 1)], 1, {"load 4": 1.0}, 132, 1980.0).calibrated
    assert cost(LOADS, 1, {"load 4": 1.0}, 132, 1980.0).calibrated


@pytest.mark.parametrize(("blocks", "sharing"), [(1, 1), (100, 100), (132, 132), (4096, 132)])
def test_blocks_share_the_cycles_among_as_many_multiprocessors_as_they_can_fill(blocks: int, sharing: int) -> None:
    found = cost(LOADS, blocks, {}, MULTIPROCESSORS["NVIDIA H200"], 992.0)
    assert (found.sharing, found.lost_us) == (sharing, 1 / sharing)


def test_on_a_card_of_unknown_size_only_one_block_has_a_time() -> None:
    assert cost(LOADS, 1, {}, None, 992.0).lost_us == 1.0
    assert cost(LOADS, 2, {}, None, 992.0).lost_us is None
    assert cost(LOADS, 2, {}, None, 992.0).sharing is None


def test_without_a_clock_there_are_cycles_and_no_time() -> None:
    found = cost(LOADS, 1, {}, 132, None)
    assert (found.cycles, found.lost_us) == (992.0, None)


def test_no_excess_costs_nothing() -> None:
    found = cost([Excess("load", 4, 0)], 1, {}, 132, 1980.0)
    assert (found.wavefronts, found.cycles, found.lost_us, found.calibrated) == (0, 0, 0.0, True)


def test_the_clock_judges_what_was_computed() -> None:
    for lost, net, slower, judgement in [
        (1.0, 0.9, 1.0, "impossible"),
        (1.0, 2.0, None, None),
        (1.0, 2.0, -0.1, "none"),
        (1.0, 2.0, 0.5, "less"),
        (1.0, 2.0, 0.8, "agrees"),
        (1.0, 2.0, 1.2, "agrees"),
        (1.0, 2.0, 1.5, "more"),
    ]:
        assert judge(lost, net, slower) == judgement

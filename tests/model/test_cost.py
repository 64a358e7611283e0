from smemviz.model.hardware.cost import MULTIPROCESSORS, Excess, cost, judge

LOADS = [Excess("store", 4, 0), Excess("load", 4, 992)]


def test_what_excess_costs():
    """Without calibration a wavefront takes a cycle, on as many multiprocessors as the blocks can fill."""
    slopes, of_h200 = {"load 4": 1.5, "atomic_add 4": 2.0}, MULTIPROCESSORS["NVIDIA H200"]
    for excess, blocks, calibrated, card, mhz, found in [
        (LOADS, 1, {}, 132, 1984.0, (992, 992.0, 1, 0.5, False)),  # 992 cycles at 1,984 per microsecond
        ([Excess("load", 4, 100), Excess("atomic_add", 4, 10)], 1, slopes, 132, 100.0, (110, 170.0, 1, 1.7, True)),
        # One operation that was not calibrated is said, but where it has no excess.
        ([*LOADS, Excess("load", 8, 1)], 1, {"load 4": 1.0}, 132, 993.0, (993, 993.0, 1, 1.0, False)),
        (LOADS, 1, {"load 4": 1.0}, 132, 992.0, (992, 992.0, 1, 1.0, True)),
        ([Excess("load", 4, 0)], 1, {}, 132, 1980.0, (0, 0, 1, 0.0, True)),
        *(
            (LOADS, n, {}, of_h200, 992.0, (992, 992.0, m, 1 / m, False))
            for n, m in ((100, 100), (132, 132), (4096, 132))
        ),
        # On a card of unknown size only one block has a time; without a clock there is none.
        (LOADS, 1, {}, None, 992.0, (992, 992.0, 1, 1.0, False)),
        (LOADS, 2, {}, None, 992.0, (992, 992.0, None, None, False)),
        (LOADS, 1, {}, 132, None, (992, 992.0, 1, None, False)),
    ]:
        one = cost(excess, blocks, calibrated, card, mhz)
        assert (one.wavefronts, one.cycles, one.sharing, one.lost_us, one.calibrated) == found


def test_the_clock_judges_what_was_computed():
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

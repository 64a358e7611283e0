from dataclasses import replace

from helpers.measured import measured_recording, timing

from smemviz.wording.impact import Measured, impact

RECORDING = measured_recording()
DEVICE = RECORDING.device
assert DEVICE is not None


def measured(kernel, **changed):
    launch = RECORDING[kernel]
    assert launch.time is not None
    assert DEVICE is not None
    return replace(Measured(launch, launch.time, DEVICE, RECORDING.calibration), **changed)


ALL = [measured(launch.kernel) for launch in RECORDING.launches]


def said(one):
    return impact(one, ALL)


def test_992_wavefronts_take_half_a_microsecond_and_the_clock_agrees():
    # 992 cycles at 1,984 MHz; row/row takes 0.25 us net, row/column 0.75.
    found = said(measured("set_row_read_col"))
    assert found.answer == "Yes"
    assert found.sentence == (
        "992 wavefronts in excess take 992 cycles, 0.500 µs: 67 % of the 0.750 µs net. "
        "The clock agrees: set_row_read_row, which has none, takes 0.500 µs less."
    )
    assert found.basis == (
        "Excess counted by the hardware; cycles per wavefront as calibrated on NVIDIA H200, at 1,984 MHz; "
        "1 multiprocessor at work. Assumes that blocks spread evenly and that nothing else fills the wait."
    )


def test_without_excess_there_is_nothing_to_lose():
    found = said(measured("set_row_read_row"))
    assert (found.answer, found.share, found.basis) == ("No", 0.0, "")
    assert found.sentence == "There are no excess wavefronts: bank conflicts cost this launch nothing."


def test_where_the_clock_and_the_count_disagree_one_sentence_says_so():
    less = said(measured("set_row_read_col", time=timing(1.1)))
    assert less.sentence.endswith(
        "The clock shows less: set_row_read_row, which has none, takes only 0.350 µs less; the rest is hidden."
    )
    more = said(measured("set_row_read_col", time=timing(3.0)))
    assert more.sentence.endswith(
        "The clock shows more: set_row_read_row, which has none, takes 2.250 µs less; the rest has another cause."
    )
    impossible = said(measured("set_row_read_col", time=timing(0.9)))
    assert impossible.sentence.endswith(
        "0.500 µs: 125 % of the 0.400 µs net. That is more than was measured: part of it is hidden, by the start of "
        "the launch or by other work."
    )
    slow_peer = [measured("set_row_read_row", time=timing(2.0))]
    unseen = impact(measured("set_row_read_col"), slow_peer)
    assert unseen.answer == "Not seen"
    assert unseen.sentence.endswith("The clock does not show it: set_row_read_row, which has none, takes no less.")


def test_a_launch_is_compared_with_the_same_work_only():
    one = measured("set_row_read_col")
    peer = measured("set_row_read_row")
    logged = peer.launch.requests.site == 2  # the global store alone: a kernel that uses no shared memory
    others = (
        replace(peer, launch=replace(peer.launch, grid=(2, 1, 1))),
        replace(peer, launch=replace(peer.launch, block=(32, 16, 1))),
        replace(peer, device=replace(peer.device, name="NVIDIA L4")),
        replace(peer, time=replace(peer.time, cold=True)),
        replace(peer, launch=replace(peer.launch, requests=peer.launch.requests.select(logged), hardware=())),
        measured("set_col_read_col"),
    )
    assert impact(one, others).sentence.endswith("67 % of the 0.750 µs net.")


def test_what_the_hardware_counted_goes_before_what_was_recorded():
    # As when the compiler merges: 100 wavefronts where 92 would do.
    launch = RECORDING["set_row_read_col"]
    rows = [launch.hardware[0], replace(launch.hardware[1], wavefronts=100, ideal=92), launch.hardware[2]]
    assert said(measured("set_row_read_col", launch=replace(launch, hardware=tuple(rows)))).cost.cycles == 8
    plain = said(measured("set_row_read_col", launch=replace(launch, hardware=())))
    assert plain.cost.cycles == 992
    assert plain.basis.startswith("Excess by the rule for compute capability 9.0; ")


def test_what_is_not_known_is_not_guessed():
    blind = said(measured("set_row_read_col", time=timing(1.25, conditions={})))
    assert blind.answer == "Not known"
    assert blind.sentence == (
        "992 wavefronts in excess take 992 cycles in all; the clock was not read, so the time is not known."
    )
    assert DEVICE is not None
    launch = replace(RECORDING["set_row_read_col"], grid=(200, 1, 1))
    large = said(measured("set_row_read_col", launch=launch, device=replace(DEVICE, name="NVIDIA Unheard Of")))
    assert large.sentence.endswith("how many multiprocessors this card has is not known, so neither is the time.")


def test_blocks_share_the_loss_and_without_calibration_the_documented_cycle_is_named():
    # 992 cycles over 132 multiprocessors at 1,984 MHz: 3.8 ns of 750.
    found = said(measured("set_row_read_col", launch=replace(RECORDING["set_row_read_col"], grid=(200, 1, 1))))
    assert found.answer == "Hardly"
    assert found.sentence == (
        "992 wavefronts in excess take 992 cycles over 132 multiprocessors, 0.004 µs: 0.5 % of the 0.750 µs net."
    )
    assert "1 cycle per wavefront as documented" in said(measured("set_row_read_col", calibration=None)).basis

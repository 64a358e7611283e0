"""The six square kernels with times, verdicts and a calibration, written down by hand after what an H200 gave."""

from dataclasses import replace

from helpers.synthetic import square_recording
from smemviz.recordings.data import Launch
from smemviz.recordings.measured import Calibration, SiteHardware, Timing
from smemviz.recordings.recording import Recording

FLOOR = 0.5
MEDIANS = {
    "set_row_read_row": 0.75,
    "set_col_read_col": 1.75,
    "set_row_read_col": 1.25,
    "set_row_read_col_dyn": 1.15,
    "set_row_read_col_pad": 0.8,
    "set_row_read_col_dyn_pad": 0.9,
}


def timing(median: float, floor: float = FLOOR, **more: object) -> Timing:
    """Write a time of five samples, 0.002 us apart, their interval half as wide as their range."""
    samples = tuple(round(median + offset, 4) for offset in (0.002, -0.004, 0.0, 0.004, -0.002))
    found = Timing(
        median_us=median,
        low_us=median - 0.002,
        high_us=median + 0.002,
        p5_us=median - 0.004,
        p95_us=median + 0.004,
        floor_us=floor,
        samples=5,
        nodes=400,
        samples_us=samples,
        cold=False,
        date="2025-11-21T03:00:00+00:00",
        conditions={"SM clock": "1984 MHz", "power": "122 W"},
    )
    return replace(found, **more)


def agreeing(launch: Launch) -> tuple[SiteHardware, ...]:
    """Let the hardware count what the model does."""
    return tuple(
        SiteHardware(row.requests, row.wavefronts, row.ideal, row.sectors, "agrees", f"{row.requests} as recorded")
        for row in launch.summary()
    )


def measured_recording() -> Recording:
    """Return the recording; a wavefront takes exactly one clock, of which there are 1,984 in a microsecond."""
    recording = square_recording()
    assert recording.device is not None
    launches = tuple(
        replace(
            launch,
            time=timing(MEDIANS[launch.kernel]),
            hardware=agreeing(launch),
            counters={"smsp__inst_executed_op_shared_ld.sum": 32.0},
        )
        for launch in recording.launches
    )
    slopes = {"load 4": 1.0, "store 4": 1.0}
    calibration = Calibration(recording.device, "2025-11-21T02:00:00+00:00", slopes, ())
    return replace(recording, launches=launches, calibration=calibration)

"""The state of the card while something was measured, where nvidia-ml-py is installed."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable

from smemviz.i18n import N_

_THROTTLE_REASONS = {
    "nvmlClocksThrottleReasonSwPowerCap": N_("software power cap"),
    "nvmlClocksThrottleReasonHwSlowdown": N_("hardware slowdown"),
    "nvmlClocksThrottleReasonSwThermalSlowdown": N_("software thermal slowdown"),
    "nvmlClocksThrottleReasonHwThermalSlowdown": N_("hardware thermal slowdown"),
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": N_("power brake"),
    "nvmlClocksThrottleReasonApplicationsClocksSetting": N_("application clocks"),
    "nvmlClocksThrottleReasonSyncBoost": N_("sync boost"),
}


def conditions() -> dict[str, str]:
    """Return clocks, power, temperature and throttle reasons of the first GPU; empty where they cannot be read."""
    if importlib.util.find_spec("pynvml") is None:
        return {}
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return {}
    try:
        return _read()
    finally:
        pynvml.nvmlShutdown()


def _read() -> dict[str, str]:
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    readings: dict[str, Callable[[], str]] = {
        "SM clock": lambda: f"{pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)} MHz",
        "memory clock": lambda: f"{pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)} MHz",
        "power": lambda: f"{pynvml.nvmlDeviceGetPowerUsage(handle) / 1000:.0f} W",
        "temperature": lambda: f"{pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)} C",
        "throttled by": lambda: _reasons(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
    }
    values = {}
    for name, read in readings.items():
        with contextlib.suppress(pynvml.NVMLError):  # this card does not tell
            values[name] = read()
    return values


def _reasons(bits: int) -> str:
    import pynvml

    reasons = [text for name, text in _THROTTLE_REASONS.items() if bits & getattr(pynvml, name, 0)]
    return ", ".join(reasons) or "nothing"

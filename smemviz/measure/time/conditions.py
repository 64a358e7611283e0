"""The state of the card while something was measured, where nvidia-ml-py is installed."""

import contextlib
import importlib.util
from collections.abc import Callable
from typing import Any

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
    import pynvml as nvml

    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return {}
    values = {}
    try:
        card = nvml.nvmlDeviceGetHandleByIndex(0)
        readings: dict[str, Callable[[], str]] = {
            "SM clock": lambda: f"{nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM)} MHz",
            "memory clock": lambda: f"{nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM)} MHz",
            "power": lambda: f"{nvml.nvmlDeviceGetPowerUsage(card) / 1000:.0f} W",
            "temperature": lambda: f"{nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU)} C",
            "throttled by": lambda: _reasons(nvml, nvml.nvmlDeviceGetCurrentClocksThrottleReasons(card)),
        }
        for name, read in readings.items():
            with contextlib.suppress(nvml.NVMLError):  # this card does not tell
                values[name] = read()
    finally:
        nvml.nvmlShutdown()
    return values


def _reasons(nvml: Any, bits: int) -> str:
    reasons = [text for name, text in _THROTTLE_REASONS.items() if bits & getattr(nvml, name, 0)]
    return ", ".join(reasons) or "nothing"

"""Where calibrations are kept: the user's own of this machine's cards first, then those that come with smemviz."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from platformdirs import user_data_path

from smemviz.errors import InputError
from smemviz.paths import kernels_dir
from smemviz.recordings.archive import writing
from smemviz.recordings.checks import decode
from smemviz.recordings.measured import Calibration
from smemviz.recordings.recording import Recording

_FILE = "calibration.json"
_MAX_BYTES = 1 << 20


def save_calibration(calibration: Calibration, path: Path | None = None) -> Path:
    """Write a calibration, by default where recordings made on the same card will find it; return the path."""
    if path is None:
        path = _user_path(calibration.device.name)
    with writing(path) as partial:
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(asdict(calibration), indent=1) + "\n", encoding="utf-8")
    return path


def calibration_files() -> tuple[Path, ...]:
    """Return the files of all calibrations that are kept here, the user's own first."""
    return (*sorted(user_folder().glob(f"*/{_FILE}")), *_shipped())


def user_folder() -> Path:
    """Return the folder of the calibrations made on this machine: a folder for each card, with a file in it."""
    return user_data_path("smemviz", appauthor=False)


def calibration_of(name: str) -> Calibration | None:
    """Return what was measured on a card of this name, if anything was."""
    for path in (_user_path(name), *_shipped()):
        if path.is_file():
            calibration = load_calibration(path)
            if calibration.device.name == name:
                return calibration
    return None


def calibration_for(recording: Recording) -> Calibration | None:
    """Return what was measured on a recording's card: as the recording has it, else as it is kept here."""
    if recording.calibration or recording.device is None:
        return recording.calibration
    return calibration_of(recording.device.name)


def load_calibration(path: Path) -> Calibration:
    """Read a calibration.

    Raises:
        InputError: when the file is none.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("it is too large")
        calibration: Calibration = decode(Calibration, json.loads(path.read_text(encoding="utf-8")), "calibration")
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not a calibration: {error}; run smemviz calibrate again") from None
    return calibration


def _user_path(name: str) -> Path:
    folder = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "card"
    return user_folder() / folder / _FILE


def _shipped() -> list[Path]:
    return sorted((kernels_dir() / "recordings").glob(f"*/{_FILE}"))

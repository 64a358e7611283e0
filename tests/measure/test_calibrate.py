"""Calibrating a card: here cards made of the model itself, and of the model with one rule changed."""

import json

import numpy as np
import pytest
from helpers.gallery import RECORDINGS

from smemviz.errors import InputError
from smemviz.measure.calibration.calibrate import calibrate
from smemviz.model.counting.service import wavefronts
from smemviz.recordings import calibration as kept
from smemviz.recordings.measured import Device

CARD = Device("Model Card", (9, 0), "1.0", "CUDA 13.0")


def card(cost=lambda pattern, count: count, slope=1.5, start=0.25, cc=(9, 0)):
    """A card that costs ``slope`` cycles a wavefront, and something each time."""

    def cycles(patterns):
        counts = [int(wavefronts(p.addresses, p.width, p.op, cc)) for p in patterns]
        return [start + slope * cost(p, n) for p, n in zip(patterns, counts, strict=True)]

    return cycles


def deviating(found):
    return [row.what for row in found.rows if not row.agrees]


def test_a_card_that_does_what_the_model_says_agrees_in_every_row():
    found = calibrate(CARD, card())

    assert deviating(found) == []
    assert set(found.slopes.values()) == {1.5}
    assert ("number of banks", "32", "32") in [(r.what, r.model, r.card) for r in found.rows]
    assert ("bytes of a bank", "4", "4") in [(r.what, r.model, r.card) for r in found.rows]
    assert ("load, 8 bytes: lanes served with lane 0", "0 to 15", "0 to 15") in [
        (r.what, r.model, r.card) for r in found.rows
    ]


def test_noise_of_a_few_percent_changes_no_verdict():
    random = np.random.default_rng(3)

    found = calibrate(CARD, card(lambda pattern, count: count * random.normal(1, 0.01)))

    assert deviating(found) == []


def test_a_card_with_sixteen_banks_deviates():
    found = calibrate(CARD, _sixteen_banks)

    assert "number of banks" in deviating(found)


def _sixteen_banks(patterns):
    """Cycles of a card of 16 banks of 4 bytes, lanes all at once."""
    found = []
    for pattern in patterns:
        words = np.unique(pattern.addresses[pattern.addresses >= 0] // 4)
        found.append(float(np.bincount(words % 16).max()))
    return found


def test_a_card_that_never_merges_wide_loads_deviates_in_that_row():
    def unmerged(pattern, count):
        return int(wavefronts(pattern.addresses, pattern.width, "store", (9, 0))) if pattern.op == "load" else count

    found = calibrate(CARD, card(unmerged))

    assert "load, 8 bytes: merge rule" in deviating(found)
    assert "store, 8 bytes: merge rule" not in deviating(found)


def test_the_deviation_is_named_with_both_counts():
    def slower(pattern, count):
        return 7 if pattern.asks == "random 3" else count

    rows = {row.what: row for row in calibrate(CARD, card(slower)).rows}

    row = rows["atomic_add, 4 bytes: random requests"]
    assert row.card.startswith("39 the same; random 3: ")
    assert row.card.endswith(" against 7.0")


def test_a_calibration_is_found_again_by_the_name_of_its_card(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "user_data_path", lambda *_, **__: tmp_path)
    assert kept.calibration_of("Model Card") is None

    found = calibrate(CARD, card())
    path = kept.save_calibration(found)

    assert path == tmp_path / "model-card" / "calibration.json"
    assert kept.calibration_of("Model Card") == found


def test_a_damaged_calibration_is_one_line(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps({"device": 3}))

    with pytest.raises(InputError) as caught:
        kept.load_calibration(path)

    assert str(caught.value).startswith(f"{path}: is not a calibration: calibration.device has the wrong type")


def test_the_h200_does_what_the_model_says():
    found = kept.load_calibration(RECORDINGS / "calibration.json")

    assert found.device.name == "NVIDIA H200"
    assert deviating(found) == []
    assert len(found.slopes) == 15
    assert all(abs(slope - 1) < 0.002 for slope in found.slopes.values())  # one wavefront a clock

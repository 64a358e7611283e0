"""Every number that is shown: what it is, how it comes about, and what it rests on."""

from __future__ import annotations

from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch
from smemviz.views.glossary.counted import global_numbers, layout_numbers, request_numbers, shared_numbers
from smemviz.views.glossary.entry import Section
from smemviz.views.glossary.measured import hardware_numbers, product_numbers, quoted_numbers, time_numbers


def numbers(launch: Launch, hardware: Hardware = H200) -> tuple[Section, ...]:
    """Explain every number, with those of a launch as examples."""
    return (
        request_numbers(launch, hardware),
        shared_numbers(launch, hardware),
        global_numbers(launch, hardware),
        time_numbers(launch),
        hardware_numbers(),
        layout_numbers(),
        product_numbers(),
        quoted_numbers(),
    )

"""The explanations of a launch, kept while it is looked at: the search for layouts takes its time."""

from functools import lru_cache

from smemviz.frontends.reading import loaded_sites
from smemviz.languages import spelling_of
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.data import Launch
from smemviz.recordings.recording import Recording
from smemviz.wording.explanations import Explaining


def explaining_of(recording: Recording, launch: Launch, hardware: Hardware) -> Explaining:
    """Return what explains a launch of a recording."""
    return _explaining(_Same(recording, launch), hardware)


class _Same:
    """A launch as a key: equal only to itself, so that a step on the page explains nothing twice."""

    def __init__(self, recording: Recording, launch: Launch) -> None:
        self.recording = recording
        self.launch = launch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.launch is self.launch

    def __hash__(self) -> int:
        return id(self.launch)


@lru_cache(maxsize=2)
def _explaining(same: _Same, hardware: Hardware) -> Explaining:
    spelling = spelling_of(same.recording.file_of(same.launch))
    return Explaining(same.launch, hardware, loaded_sites(same.recording, same.launch), spelling)

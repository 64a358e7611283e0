"""A recording: everything that one run captured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from smemviz.recordings.data import Calibration, Device, Finding, Launch, Site
from smemviz.recordings.dtypes import ConstantValue

EngineName = Literal["gpu", "lockstep"]


@dataclass(frozen=True)
class Recording:
    """Everything captured by one run of a kernel file. ``date`` is UTC, ISO 8601; ``version`` is smemviz's.

    ``calibration`` is what was measured on the card before, if anything was. ``sources`` holds the text of every other
    file that has a kernel or a site, by its name. ``unrecorded`` counts the launches of the run that were not to be
    recorded. ``view`` is, for CUDA C++, whether accesses are those of the source or those that the compiler leaves.
    """

    file: str
    source: str
    sha256: str
    constants: Mapping[str, ConstantValue]
    engine: EngineName
    device: Device | None
    date: str
    version: str
    launches: tuple[Launch, ...]
    findings: tuple[Finding, ...] = ()
    calibration: Calibration | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    unrecorded: int = 0
    view: Literal["source", "compiled"] = "source"

    def __repr__(self) -> str:
        kernels = ", ".join(dict.fromkeys(launch.kernel for launch in self.launches))
        made = f"{len(self.launches):,} launch{'' if len(self.launches) == 1 else 'es'}"
        return f"<Recording of {self.file} by {self.engine}: {made}{' of ' if kernels else ''}{kernels}>"

    def file_of(self, launch: Launch, site: Site | None = None) -> str:
        """Return the name of the file that a kernel, or a site of it, stands in."""
        return (site.file if site else "") or launch.file or self.file

    def source_of(self, launch: Launch, site: Site | None = None) -> str:
        """Return the text of that file."""
        return self.text(self.file_of(launch, site))

    def file_of_finding(self, finding: Finding) -> str:
        """Return the name of the file a finding's line is in: that of the sites in such a line, else its kernel's."""
        if finding.launch is None:
            return self.file
        launch = self.launches[finding.launch]
        files = {self.file_of(launch, site) for site in launch.sites if site.line == finding.line}
        return files.pop() if len(files) == 1 else self.file_of(launch)

    def text(self, file: str) -> str:
        """Return the text of a file by its name."""
        return self.source if file == self.file else self.sources[file]

    def __getitem__(self, kernel: str) -> Launch:
        """Return the first launch of a kernel, by the kernel's name."""
        for launch in self.launches:
            if launch.kernel == kernel:
                return launch
        names = ", ".join(dict.fromkeys(launch.kernel for launch in self.launches)) or "none"
        raise KeyError(f"no launch of {kernel!r} in this recording; it has: {names}")

    def _repr_html_(self) -> str:
        """Return what a notebook shows; see ``smemviz.reports.notebook``."""
        from smemviz.reports.notebook import to_html

        return to_html(self)

    def save(self, path: str | Path) -> None:
        """Write the recording to a ``*.smem.npz`` file; see ``smemviz.recordings.write``."""
        from smemviz.recordings.write import save

        save(self, path)

"""What a test gets as ``smem``: kernels recorded or loaded, and limits on what they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smemviz.engines import record, run
from smemviz.engines.backend import Engine
from smemviz.errors import InputError, SmemvizError
from smemviz.frontends.program import source_sha256
from smemviz.frontends.reading import read_source
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.recordings.data import Launch, Site
from smemviz.recordings.file import load
from smemviz.recordings.findings import Finding
from smemviz.recordings.recording import Recording
from smemviz.recordings.text import lines_of
from smemviz.testing.limits import Limit, SiteSelection, concerns, exceeded
from smemviz.testing.witness import Quantity, Witness
from smemviz.wording.sentences import described, findings_of, folded

_MOST_FINDINGS = 5


class Smem:
    """Recordings of one test, and assertions on them.

    ``recordings`` are all that the test made or loaded, ``made`` those it made; ``witnesses`` show what exceeded a
    limit. Every method raises ``SmemvizError``, in one line, for what cannot be run or checked.
    """

    def __init__(self, test_file: Path, root: Path, engine: Engine = "auto") -> None:
        self._places = Places(test_file, root)
        self._engine = engine
        self.recordings: list[Recording] = []
        self.made: list[Recording] = []
        self.witnesses: list[Witness] = []

    def run(
        self,
        path: str | Path,
        constants: Mapping[str, object] | None = None,
        engine: Engine = "auto",
        view: str | None = None,
    ) -> Recording:
        """Run a kernel file, of Python or CUDA C++, and record its launches; see ``smemviz.run``.

        A relative path starts at the folder of the test file, or at pytest's root folder.
        """
        __tracebackhide__ = True
        try:
            return self._remembered(run(self._places.find(path), constants, self._engine_for(engine), view=view))
        except SmemvizError as error:
            raise error.with_traceback(None) from None

    def record(
        self,
        kernel: object,
        grid: object,
        block: object,
        args: Sequence[Any],
        dynamic_shared: int = 0,
        engine: Engine = "auto",
    ) -> Recording:
        """Record one launch of a kernel; see ``smemviz.record``."""
        __tracebackhide__ = True
        try:
            return self._remembered(record(kernel, grid, block, args, dynamic_shared, self._engine_for(engine)))
        except SmemvizError as error:
            raise error.with_traceback(None) from None

    def _engine_for(self, asked: Engine) -> Engine:
        """Return the engine that a test asks for; that of the project where it leaves the choice."""
        return self._engine if asked == "auto" else asked

    def load(self, path: str | Path, source: str | Path | None = None) -> Recording:
        """Load a recording, made on a GPU for instance; one of another version of its kernel file is refused.

        ``source`` says where the kernel file is when that is not where it was when it was recorded.
        """
        __tracebackhide__ = True
        try:
            file = self._places.find(path)
            recording = load(file)
            check_fresh(recording, file, self._places, source)
        except SmemvizError as error:
            raise error.with_traceback(None) from None
        self.recordings.append(recording)
        return recording

    def assert_max_degree(
        self,
        what: Recording | Launch,
        most: int,
        *,
        line: int | None = None,
        source: str | None = None,
        site: Site | None = None,
        cc: tuple[int, int] = (9, 0),
    ) -> None:
        """Assert that no access to shared memory has a conflict of more than ``most`` ways; 1 is no conflict."""
        __tracebackhide__ = True
        self._assert(what, "max_degree", most, SiteSelection(line, source, site), Hardware(cc))

    def assert_excess(
        self,
        what: Recording | Launch,
        most: int,
        *,
        line: int | None = None,
        source: str | None = None,
        site: Site | None = None,
        cc: tuple[int, int] = (9, 0),
    ) -> None:
        """Assert that accesses to shared memory together take at most so many wavefronts more than ideal."""
        __tracebackhide__ = True
        self._assert(what, "excess", most, SiteSelection(line, source, site), Hardware(cc))

    def assert_sectors_per_request(
        self,
        what: Recording | Launch,
        most: float,
        *,
        line: int | None = None,
        source: str | None = None,
        site: Site | None = None,
    ) -> None:
        """Assert that each access to global memory moves at most so many sectors per request, on average."""
        __tracebackhide__ = True
        self._assert(what, "sectors_per_request", most, SiteSelection(line, source, site), H200)

    def assert_no_findings(self, what: Recording | Launch) -> None:
        """Assert that lockstep met no mistake: nothing out of bounds, no race, no barrier that some threads miss."""
        __tracebackhide__ = True
        try:
            problem = self.found(what)
        except SmemvizError as error:
            raise error.with_traceback(None) from None
        if problem is not None:
            raise AssertionError(problem.text)

    def exceeded(
        self, what: Recording | Launch, limit: Limit, selection: SiteSelection, hardware: Hardware
    ) -> Witness | None:
        """Return, and remember, what shows that a limit is exceeded; None when all launches meant keep it.

        Of a recording, launches that the limit says nothing about are left out.

        Raises:
            InputError: when there is nothing to check, or it cannot be told.
        """
        launches = self.launches(what)
        concerned = [(recording, launch) for recording, launch in launches if concerns(launch, limit, selection)]
        if isinstance(what, Recording) and not concerned and len(launches) != 1:
            at = f" at {selection.text}" if selection.text else ""
            raise InputError(f"{what.file}: no launch made an access to {limit.space} memory{at}")
        for recording, launch in concerned or launches:
            problem = exceeded(recording, launch, limit, selection, hardware)
            if problem is not None:
                self.witnesses.append(problem)
                return problem
        return None

    def found(self, what: Recording | Launch) -> Witness | None:
        """Return, and remember, the mistakes met in a recording or a launch, None without any.

        Raises:
            InputError: for a recording of the GPU, which looks for none.
        """
        recording = what if isinstance(what, Recording) else self._recording_of(what)
        if recording.engine != "lockstep":
            raise InputError(
                f"{recording.file}: was recorded on a GPU, which looks for no mistakes; record with engine='lockstep'"
            )
        findings = recording.findings if isinstance(what, Recording) else findings_of(recording, what)
        findings = tuple(finding for finding in findings if not finding.harmless)
        if not findings:
            return None
        self.witnesses.append(_findings_witness(recording, findings))
        return self.witnesses[-1]

    def launches(self, what: Recording | Launch) -> list[tuple[Recording, Launch]]:
        """Return the launches that are meant, each with its recording."""
        if isinstance(what, Recording):
            return [(what, launch) for launch in what.launches]
        return [(self._recording_of(what), what)]

    def _recording_of(self, launch: Launch) -> Recording:
        for recording in self.recordings:
            if any(other is launch for other in recording.launches):
                return recording
        raise InputError(f"{launch!r:.80} is not a launch that came from smem.run, smem.record or smem.load")

    def _remembered(self, recording: Recording) -> Recording:
        self.recordings.append(recording)
        self.made.append(recording)
        return recording

    def _assert(
        self, what: Recording | Launch, quantity: Quantity, most: float, selection: SiteSelection, hardware: Hardware
    ) -> None:
        __tracebackhide__ = True
        try:
            problem = self.exceeded(what, Limit(quantity, most), selection, hardware)
        except SmemvizError as error:
            raise error.with_traceback(None) from None
        if problem is not None:
            raise AssertionError(problem.text)


def _findings_witness(recording: Recording, findings: Sequence[Finding]) -> Witness:
    """Show mistakes, each with its place, and the source around the first."""
    lines, folded_findings = [], folded(findings)
    for finding, more in folded_findings[:_MOST_FINDINGS]:
        launch = None if finding.launch is None else recording.launches[finding.launch]
        file = recording.file_of(launch) if launch else recording.file
        text = lines_of(recording.source_of(launch) if launch else recording.source)
        lines.append(f"{file}:{finding.line}: {described(finding, recording, more)}")
        lines.append(f"  {text[finding.line - 1].strip()}")
    if len(folded_findings) > _MOST_FINDINGS:
        lines.append(f"and {sum(1 + more for _, more in folded_findings[_MOST_FINDINGS:])} more")
    return Witness(lines[0], tuple(lines[1:]))


class Places:
    """The folders that a test's relative paths start at: its own, then pytest's root."""

    def __init__(self, test_file: Path, root: Path) -> None:
        self._folders = (test_file.parent, root)

    def find(self, path: str | Path) -> Path:
        """Return where a file is, relative to the working folder if it is in there.

        Raises:
            InputError: when it is nowhere.
        """
        for folder in self._folders:
            file = folder / path
            if file.exists():
                return self._short(file)
        folders = " or ".join(dict.fromkeys(str(folder) for folder in self._folders))
        where = "" if Path(path).is_absolute() else f" in {folders}"
        raise InputError(f"{path}: no such file{where}")

    def _short(self, file: Path) -> Path:
        here = Path.cwd()
        resolved = file.resolve()
        return resolved.relative_to(here) if resolved.is_relative_to(here) else resolved


def check_fresh(recording: Recording, file: Path, places: Places, source: str | Path | None) -> None:
    """Refuse a recording made from another version of its kernel file, or of a file its kernels call into.

    Raises:
        InputError: in one line that says how to record again.
    """
    for name, text in {recording.file: recording.source, **recording.sources}.items():
        try:
            now = places.find(source if source is not None and name == recording.file else name)
        except InputError:
            remedy = "name the kernel file: smem.load(path, source=...)"
            raise InputError(f"{file}: was recorded from {name}, which is not here; {remedy}") from None
        if source_sha256(read_source(now)) != source_sha256(text):
            raise InputError(f"{file}: was recorded from another version of {now.as_posix()}; record it again")

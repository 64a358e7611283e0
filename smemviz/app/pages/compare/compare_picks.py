"""Which launches the compare page shows: ``launch=file:kernel`` in the URL as often as wanted, or all of ``file``."""

from smemviz.app.components.launches import SEVERAL, Query, hardware_of, pick_of
from smemviz.app.library import Library
from smemviz.app.state import RunState
from smemviz.app.tasks.stopwatch import Stopwatch
from smemviz.errors import InputError, SmemvizError
from smemviz.views.comparison import Entry
from smemviz.wording.labels import launch_name
from smemviz.wording.sentences import origin

_MOST_DIGITS = 9  # of the number of a launch


def picked(library: Library, query: Query) -> tuple[list[str], list[str]]:
    """Return the launches to compare, and those that would be compared if the URL named none.

    Raises:
        SmemvizError: when there is no such file, or it cannot be run.
    """
    state = _state(library, query, query.get("file") or library.files[0])
    shown_run = library.show(state)
    firsts = [group[0] for group in shown_run.groups()]
    standard = [pick_of(state.file, launch.kernel, nth) for launch, nth in firsts]
    if not standard:
        raise shown_run.refusal("")
    picks = [pick for pick in query.get("launch", "").split(SEVERAL) if pick]
    return list(dict.fromkeys(picks)) or standard, standard


def entries(library: Library, stopwatch: Stopwatch, query: Query, picks: list[str]) -> list[Entry]:
    """Return the launches that picks name.

    Raises:
        SmemvizError: when there is no such launch, or its file cannot be run.
    """
    parsed = [_parse(library, pick) for pick in picks]
    several = len({file for file, _, _ in parsed}) > 1
    rows = []
    for pick, (file, kernel, number) in zip(picks, parsed, strict=True):
        state = _state(library, query, file)
        shown_run = library.show(state)
        launch = next(
            (launch for launch, nth in shown_run.numbered() if (launch.kernel, nth) == (kernel, number)), None
        )
        if launch is None and kernel in shown_run.refused():
            raise shown_run.refusal(kernel)
        if launch is None:
            raise InputError(f"{pick}: main() does not launch this kernel; remove it, or pick another")
        name = launch_name(launch, number)
        rows.append(
            Entry(
                f"{file}: {name}" if several else name,
                file,
                launch,
                hardware_of(shown_run, state),
                origin(shown_run.recording),
                stopwatch.measured(shown_run, launch),
            )
        )
    return rows


def queries(library: Library, query: Query, picks: list[str]) -> list[Query]:
    """Return for each pick the query of its kernel page, with the same constants and hardware."""
    read = []
    for file, kernel, number in (_parse(library, pick) for pick in picks):
        known = library.program(file).constants
        rest = {name: value for name, value in query.items() if name in known or name in ("cc", "source")}
        read.append({"file": file, "kernel": kernel} | ({"launch": str(number)} if number else {}) | rest)
    return read


def offered(library: Library, picks: list[str]) -> list[dict[str, object]]:
    """Return what can be picked, by file: each kernel's first launch, and whatever is among the picks.

    Of a pick's file there is all that has the same kernels: its other view, and the other language.
    """
    labels: dict[str, dict[str, str]] = {}
    parsed = [_parse(library, pick) for pick in picks]
    families = (relative for file in dict.fromkeys(file for file, _, _ in parsed) for relative in library.family(file))
    for file in dict.fromkeys((*library.files, *families)):
        try:
            kernels = library.kernels(file)
        except SmemvizError:  # its card in the gallery says why
            continue
        labels[file] = {pick_of(file, kernel, 0): f"{file}: {kernel}" for kernel in kernels}
    for pick, (file, kernel, number) in zip(picks, parsed, strict=True):
        labels[file][pick] = f"{file}: {kernel}" + (f" ({number + 1})" if number else "")
    return [
        {"group": file, "items": [{"value": pick, "label": label} for pick, label in of_file.items()]}
        for file, of_file in labels.items()
    ]


def _parse(library: Library, pick: str) -> tuple[str, str, int]:
    file = max((name for name in library.every_file if pick.startswith(f"{name}:")), key=len, default=None)
    kernel, _, number = pick.removeprefix(f"{file}:").partition(":")
    if file is None or not kernel or not (number or "0").isdecimal() or len(number) > _MOST_DIGITS:
        raise InputError(f"{pick}: does not name a launch; write FILE:KERNEL, with a file of the gallery")
    return file, kernel, int(number or 0)


def _state(library: Library, query: Query, file: str) -> RunState:
    """Return what is run of a file: with the constants of the URL that it has, when other files may have the rest."""
    several = {name: value for name, value in query.items() if name not in ("kernel", "launch")} | {"file": file}
    state = RunState.read(several)
    if SEVERAL not in query.get("launch", "") and file == query.get("file"):
        return state
    known = library.program(file).constants
    elsewhere = {name for name in state.constants if name not in known}
    return RunState.read({name: value for name, value in several.items() if name not in elsewhere})

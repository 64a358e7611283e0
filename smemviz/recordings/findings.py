"""Every kind of finding: its name in data, its title, how bad it is, what it says and its remedy.

A finding is recorded as its kind and its facts. What it says is made of these here: a message in English, which pages
put into the language of those who read it. So a new kind is an entry in ``KINDS``, and whoever detects it names the
kind and the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from smemviz.i18n import N_
from smemviz.messages import Said, english
from smemviz.recordings.data import Dim3
from smemviz.recordings.race_texts import benign_race, race

Facts = Mapping[str, Any]  # texts, numbers, and tuples and mappings of these
Says = tuple[str, str]
# ``unsafe``: a device had better not make the launch, which would change memory of others, leave threads waiting for
# ever, or end the context, after which the process can launch nothing more. ``harmless`` fails nothing.
Severity = Literal["unsafe", "mistake", "harmless"]


@dataclass(frozen=True)
class Kind:
    """A kind of finding; ``says`` makes of its facts what is wrong, and a remedy where there is one."""

    title: str
    severity: Severity
    says: Callable[[Facts], Says]


@dataclass(frozen=True)
class Finding:
    """Something found while the kernel ran: what, where, and in which threads; ``message`` says it in English.

    ``launch`` is the number of the launch in the recording, None where the finding belongs to none of them. Findings of
    older recordings have no ``facts``; their message is the text in the file.
    """

    kind: str
    kernel: str
    line: int
    block: Dim3
    threads: tuple[Dim3, ...]
    message: str
    launch: int | None = None
    facts: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        kind: str,
        kernel: str,
        line: int,
        facts: Facts,
        *,
        block: Dim3 = (0, 0, 0),
        threads: tuple[Dim3, ...] = (),
        launch: int | None = None,
    ) -> Self:
        """Return a finding that says what its facts are."""
        return cls(kind, kernel, line, block, threads, _text(kind, facts), launch, facts)

    def with_facts(self, **facts: object) -> Self:
        """Return a copy with these facts added or replaced."""
        facts = {**self.facts, **facts}
        return replace(self, facts=facts, message=_text(self.kind, facts))

    @property
    def harmless(self) -> bool:
        """Whether it is worth knowing but no mistake; it fails no run."""
        return kind_of(self.kind).severity == "harmless"

    @property
    def is_unsafe(self) -> bool:
        """Whether its launch should not be made on a GPU."""
        return kind_of(self.kind).severity == "unsafe"

    @property
    def parts(self) -> tuple[str, str]:
        """What is wrong, and the remedy; without facts the whole message and ""."""
        return kind_of(self.kind).says(self.facts) if isinstance(self.message, Said) else (self.message, "")


def kind_of(name: str) -> Kind:
    """Return a kind by its name; one of another version is a mistake of which nothing is known."""
    return KINDS.get(name) or Kind(name.replace("_", " "), "mistake", lambda facts: ("", ""))


def as_recorded(finding: Finding) -> Finding:
    """Return a finding of a file, whose message stays the text that is there.

    It can be put into other languages where the facts say just that, and not in one of another version.
    """
    try:
        text = _text(finding.kind, finding.facts)
    except (LookupError, TypeError, ValueError, AttributeError):
        text = ""
    return replace(finding, message=text) if text == finding.message else finding


def _text(kind: str, facts: Facts) -> str:
    """Say what a finding is; ``not_run`` is one for which a GPU did not make the launch."""
    reason, remedy = kind_of(kind).says(facts)
    text = Said.of(N_("{reason}. {remedy}"), reason=reason, remedy=remedy) if remedy else reason
    return english("{what} It was not run on the GPU.", what=text) if facts.get("not_run") else text


def _out_of_bounds(facts: Facts) -> Says:
    check = english("Check the index with an if before it is used.")
    if "address" in facts:
        return english("address {address} is in no array of the launch", **facts), ""
    if "elements" in facts:
        return english("{array}[{index}] is outside the {elements:,} elements of {array}", **facts), check
    outside = english("{array}[{index}] is outside shape {shape}", **facts)
    if facts["space"] == "shared" and 0 in facts["shape"]:
        return outside, english("Give its bytes in the launch: kernel[grid, block, stream, bytes].")
    return outside, check


def _negative_index(facts: Facts) -> Says:
    return (
        english(
            "{array}[{index}] is {array}[{element}]: Python counts a negative index from the end, C++ does not", **facts
        ),
        english("If the end is not meant, check the index with an if."),
    )


def _unwritten_read(facts: Facts) -> Says:
    what = english("{element} is read, but nothing wrote it", **facts)
    if facts["updated"]:
        what = english("{element} is updated, but nothing wrote it", **facts)
    values = {"what": what, **facts}
    if not facts["written"]:
        return (
            english("{what}: shared memory does not start as zeros", **values),
            english("Store in {array} first.", **values),
        )
    if facts["written"] <= facts["threads"] < facts["elements"]:
        return (
            english("{what}: the block has {threads} threads and {array} {elements} elements", **values),
            english("Start one thread for each element, or let each thread store several."),
        )
    return (
        english("{what}: {written} of the {elements} elements of {array} are written", **values),
        english("Store in the others first."),
    )


def _unassigned_read(facts: Facts) -> Says:
    if "made_of" in facts:
        return (
            english(
                "{name} is computed from {made_of}, which some threads have not assigned on their path: "
                "on a GPU it may hold anything",
                **facts,
            ),
            english("Assign {made_of} on every path.", **facts),
        )
    return (
        english(
            "{name} is read by threads that have not assigned it on their path: on a GPU it may hold anything", **facts
        ),
        english("Assign it on every path."),
    )


def _barrier_divergence(facts: Facts) -> Says:
    if "mask" in facts:
        waits = english(
            "{function} waits for the {lanes} lanes of mask {mask}, of which {missing} are elsewhere", **facts
        )
        return waits, ""
    return (
        english("{code} is reached by {present} threads of a block while {missing} are elsewhere", **facts),
        english("Move it to a place that every thread of the block reaches."),
    )


def _barrier_skipped(facts: Facts) -> Says:
    skipped = english(
        "{code} is reached by {present} threads of a block; the other {missing} have nothing left to do, "
        "so a device goes on without them, as after a return.",
        **facts,
    )
    return skipped, ""


def _split_barrier(facts: Facts) -> Says:
    return (
        english(
            "{code} is reached by continue in some threads of a warp, by the end of the loop in others: Python "
            "compiles a condition twice, so they wait at two barriers, and a GPU may hang",
            **facts,
        ),
        english("Write while True, begin its body with the barrier, and leave it with break."),
    )


def _deadlock(facts: Facts) -> Says:
    return english(
        "waits in a loop for something that no thread does; check what it waits for, and which thread stores that"
    ), ""


def _misaligned(facts: Facts) -> Says:
    return (
        english(
            "address {address} is not a multiple of {width}, the width of the access; a device stops the kernel here",
            **facts,
        ),
        english("Align the array, or load fewer bytes at once."),
    )


def _missing_proxy_fence(facts: Facts) -> Says:
    return (
        english(
            "{reader} reads {array}, in which threads have stored with no proxy fence since: it may read what was "
            "there before",
            **facts,
        ),
        english("Put fence.proxy.async after the stores, before the barrier that says they are done."),
    )


def _with_threads(facts: Facts) -> Facts:
    """Return facts whose reader and writer are words: the instruction, or threads with what they do."""
    words = {"reader": english("threads"), "writer": english("a store of threads")}
    return {**facts, **{name: word for name, word in words.items() if facts.get(name) == "threads"}}


def _early_overwrite(facts: Facts) -> Says:
    waits = "wgmma.wait_group" if facts["reader"] == "wgmma" else "cp.async.bulk.wait_group.read"
    facts = _with_threads(facts)
    if not facts["reader"]:
        return (
            english("{writer} overwrites {array}, and nothing has waited for the copy into it before", **facts),
            english("Wait for that copy's mbarrier first, read what it brought, and then overwrite it."),
        )
    if not facts["unfinished"]:
        return (
            english("{writer} overwrites {array} before anything says that {reader} read it", **facts),
            english("Put a barrier between, or let the readers arrive at an mbarrier and wait for that here."),
        )
    return (
        english("{writer} overwrites {array}, which {reader} may read until it is waited for", **facts),
        english("Put {waits} before, in the threads that began it.", waits=waits),
    )


def _early_read(facts: Facts) -> Says:
    return (
        english(
            "{array} is read by {reader}, and nothing has waited for the copy into it: it may not be there yet",
            **_with_threads(facts),
        ),
        english("Wait first for the mbarrier that the copy completes."),
    )


def _assertion(facts: Facts) -> Says:
    return english("{what} fails; a device stops the kernel here", **facts), ""


def _trap(facts: Facts) -> Says:
    return english("the kernel traps; a device stops it here"), ""


def _raised(facts: Facts) -> Says:
    if facts["threads"] == 1:
        return english("1 thread ends here: {code}", **facts), ""
    return english("{threads} threads end here: {code}", **facts), ""


def _kept(facts: Facts) -> Says:
    return (
        english("{name} has changed since Numba compiled the kernel, which keeps what it was then", **facts),
        english("Pass it as an argument, or define the kernel anew."),
    )


def _launch_refused(facts: Facts) -> Says:
    """Say why a launch was refused, and what else is missing for it."""
    match facts.get("missing"):
        case "all after it":
            return english("{what} This launch and all after it are missing.", **facts), ""
        case "its cell":
            missing = english(
                "{what} This launch and the rest of its cell are missing, and what it would have stored.", **facts
            )
            return missing, ""
        case "its recording":
            return english("{what} It ran and is not recorded.", **facts), ""
    return facts["what"], ""


def _main_failed(facts: Facts) -> Says:
    if "what" not in facts:
        return english("stopped here; the launches after it are missing"), ""
    if facts["is_sentence"]:
        return english("main() ended here: {what}", **facts), ""
    return english("main() ended with {what}", **facts), ""


KINDS: Mapping[str, Kind] = {
    "race": Kind(N_("race"), "mistake", race),
    "benign_race": Kind(N_("benign race"), "harmless", benign_race),
    "out_of_bounds": Kind(N_("out of bounds"), "unsafe", _out_of_bounds),
    "negative_index": Kind(N_("negative index"), "harmless", _negative_index),
    "unwritten_read": Kind(N_("unwritten read"), "mistake", _unwritten_read),
    "unassigned_read": Kind(N_("unassigned variable"), "mistake", _unassigned_read),
    "barrier_divergence": Kind(N_("barrier divergence"), "unsafe", _barrier_divergence),
    "barrier_skipped": Kind(N_("barrier skipped at the end"), "harmless", _barrier_skipped),
    "split_barrier": Kind(N_("split barrier"), "mistake", _split_barrier),
    "deadlock": Kind(N_("deadlock"), "unsafe", _deadlock),
    "misaligned": Kind(N_("misaligned address"), "unsafe", _misaligned),
    "missing_proxy_fence": Kind(N_("missing proxy fence"), "mistake", _missing_proxy_fence),
    "early_overwrite": Kind(N_("overwritten too early"), "mistake", _early_overwrite),
    "early_read": Kind(N_("read too early"), "mistake", _early_read),
    "assertion": Kind(N_("failed assertion"), "unsafe", _assertion),
    "trap": Kind(N_("trap"), "unsafe", _trap),
    "raised": Kind(N_("raised error"), "mistake", _raised),
    "kept": Kind(N_("stale global"), "harmless", _kept),  # about a kernel as it is launched
    "launch_refused": Kind(N_("launch refused"), "mistake", _launch_refused),  # no device would start it
    "main_failed": Kind(N_("main failed"), "mistake", _main_failed),  # about main() and no kernel
}
MAIN_FAILED, LAUNCH_REFUSED, BENIGN_RACE, KEPT = "main_failed", "launch_refused", "benign_race", "kept"

"""The lessons on what hardware makes of a kernel: merged loads, and how many blocks fit a multiprocessor."""

import numpy as np

from smemviz.errors import RecordingError
from smemviz.figures.drawing.style import ThemeName
from smemviz.figures.lessons import Bar, lesson_bars, lesson_scene
from smemviz.figures.source import source
from smemviz.frontends.reading import kernel_lines
from smemviz.i18n import N_, _, ngettext
from smemviz.lessons.lesson import Knob, Lesson, Panel, Question, Stage, Text, Values
from smemviz.lessons.scenes import by_model, by_recording, code, code_of, recorded, recorded_access
from smemviz.model.hardware.compute_capability import KIB, blocks_per_multiprocessor, device
from smemviz.model.hardware.hardware import H200
from smemviz.recordings.data import WARP_SIZE
from smemviz.wording.labels import percent

_LOADS = ("a_tile[ty, k]", "b_tile[k, tx]")  # from shared memory, in the innermost loop


def _merged(values: Values) -> Stage:
    load = values["LOAD"]
    recording = recorded("matmul")
    access = recorded_access(recording, "tiled", "load", "shared", _LOADS.index(load))
    if not access.launch.hardware:
        raise RecordingError(f"{recording.file}: the hardware's counters are not in the recording")
    site, counted = access.launch.sites[access.site], access.launch.hardware[access.site]
    requests = access.launch.summary()[access.site].requests
    right = counted.requests
    rows = access.launch.requests.addresses[access.launch.requests.site == access.site]
    warp = access.launch.requests.warp[access.launch.requests.site == access.site]
    apart = int(np.diff(rows[warp == warp[0]][:2, 0])[0])

    def hint(answer: str) -> str:
        number = int(answer)
        if number == requests:
            return _("That is how often the source asks for it. From k to k + 1 the address moves on by {apart} bytes, "
                     "and one instruction loads up to 16.", apart=apart)  # fmt: skip
        if apart * 2 > 16:
            return _("From k to k + 1 the address moves on by {apart} bytes. Can one instruction load two of them?",
                     apart=apart)  # fmt: skip
        return _("An element is {width} bytes, and one instruction loads up to 16. How many are left of {requests:,}?",
                 width=site.width, requests=requests)  # fmt: skip

    if right == requests:
        because = _("{n:,}, as in the source: the elements lie {apart} bytes apart, and no instruction loads two.",
                    n=right, apart=apart)  # fmt: skip
    else:
        because = ngettext(
            "{n:,} instruction for {requests:,} loads of the source: the compiler made one load of {times}.",
            "{n:,} instructions for {requests:,} loads of the source: the compiler made one load of {times}.",
            right, requests=requests, times=requests // right,
        )  # fmt: skip

    lines = kernel_lines(recording, access.launch)

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        bars = [Bar(_("requests of the source"), requests), Bar(_("requests of the hardware"), right, answers=True)]
        if counted.wavefronts is not None:
            modelled = access.launch.summary()[access.site].wavefronts or 0
            bars += [Bar(_("wavefronts of the source"), modelled)]
            bars += [Bar(_("wavefronts of the hardware"), counted.wavefronts)]
        sentence = _("Source and hardware. {said}", said=because)
        picture = source(recording, access.launch, lines, site=access.site, theme=theme)
        return (
            Panel(
                _("Source and hardware"),
                lesson_bars(bars, "", _("count"), sentence, theme=theme),
                sentence,
                narrow=True,
            ),
            Panel(_("The kernel"), picture, because, narrow=True),
        )

    gpu = recording.device.name if recording.device else ""
    question = _("An element has {width} bytes. In the source, warps load {code} {requests:,} times. How many load "
                 "instructions did Nsight Compute count on the {gpu}?",
                 width=site.width, code=code(site.source), requests=requests, gpu=gpu)  # fmt: skip
    return Stage(
        Question("number", question), frozenset([str(right)]), hint, because, by_recording(recording), panels,
        lambda theme: code_of(recording, access.launch, theme),
    )  # fmt: skip


COMPILER = Lesson(
    "compiler",
    N_("Source and hardware"),
    N_("Say why hardware may count fewer accesses than the source has."),
    6,
    (
        Text(N_("The source says which elements are loaded. The compiler chooses the instructions: neighbours in "
                "memory, as {a} for k = 0, 1, 2, ..., can be loaded together, up to 16 bytes per lane."),
             {"a": _LOADS[0]}),
        Text(N_("So a profiler may count fewer requests than the source makes. Both are right. Compare counts of the "
                "source with counts of the source, and counts of the hardware with counts of the hardware.")),
    ),
    (Knob("LOAD", _LOADS, _LOADS[0], N_("In question")),),
    _merged,
    ({}, {"LOAD": _LOADS[1]}),
    ("8192", "1", "4096"),
    "file=matmul&kernel=tiled",
    builds_on=("tiles", "rows"),
)  # fmt: skip


# Occupancy


def _fitting(values: Values) -> Stage:
    kib, threads = int(values["KIB"]), int(values["THREADS"])
    limits = device(H200.cc)
    whole, reserved = limits.multiprocessor.shared_bytes // KIB, limits.reserved_shared // KIB
    by_threads = blocks_per_multiprocessor(0, H200.cc, threads)
    right = blocks_per_multiprocessor(kib * KIB, H200.cc, threads)
    warps, most_warps = right * threads // WARP_SIZE, limits.multiprocessor.threads // WARP_SIZE

    def hint(answer: str) -> str:
        number = int(answer)
        if number == by_threads:
            return _("That many fit by their threads. But they would take {n} KiB of shared memory.",
                     n=number * (kib + reserved))  # fmt: skip
        if number == whole // kib:
            return _("Each block takes {n} KiB more than it declares.", n=reserved)
        return _("A block takes {each} KiB of {whole} KiB, and {threads} of {most} threads.", each=kib + reserved,
                 whole=whole, threads=threads, most=limits.multiprocessor.threads)  # fmt: skip

    because = ngettext(
        "{whole} KiB hold {by_memory} of {each} KiB, and {most} have room for their threads: {n} block at once. "
        "{warps} of {all} warps: an occupancy of {share}.",
        "{whole} KiB hold {by_memory} of {each} KiB, and {most} have room for their threads: {n} blocks at once. "
        "{warps} of {all} warps: an occupancy of {share}.",
        right, whole=whole, by_memory=blocks_per_multiprocessor(kib * KIB, H200.cc), each=kib + reserved,
        most=by_threads, warps=warps, all=most_warps, share=percent(warps / most_warps),
    )  # fmt: skip
    question = _("A multiprocessor of compute capability {cc} has {whole} KiB of shared memory and takes {most:,} "
                 "threads. A block has {threads} threads and declares {kib} KiB; {reserved} KiB is taken on top. How "
                 "many blocks fit at once?", cc=limits.name, whole=whole, most=limits.multiprocessor.threads,
                 threads=threads, kib=kib, reserved=reserved)  # fmt: skip

    def before(theme: ThemeName) -> Panel:
        sentence = _("Shared memory of a multiprocessor in KiB, and what one block takes of it.")
        cells = {(0, column): "" for column in range(kib + reserved)}
        figure = lesson_scene((1, whole), cells, (_("KiB"), ""), sentence, theme=theme)
        return Panel(_("One block"), figure, sentence)

    def panels(theme: ThemeName) -> tuple[Panel, ...]:
        limiting = [
            Bar(_("blocks by threads"), by_threads),
            Bar(_("blocks by shared memory"), blocks_per_multiprocessor(kib * KIB, H200.cc)),
            Bar(_("blocks at once"), right, answers=True),
        ]
        figure = lesson_bars(limiting, "", _("blocks"), because, theme=theme)
        return (Panel(_("What limits the blocks"), figure, because),)

    return Stage(Question("number", question), frozenset([str(right)]), hint, because, by_model(), panels, before)


OCCUPANCY = Lesson(
    "occupancy",
    N_("Occupancy: how many blocks fit"),
    N_("Work out how many blocks run on a multiprocessor at once."),
    7,
    (
        Text(N_("A multiprocessor holds several blocks at once. While some warps wait for memory, others work. "
                "Occupancy is the number of warps that it holds, divided by the most that it can hold.")),
        Text(N_("A block fits while its threads and its shared memory do; registers are a limit too. A large tile or a "
                "pad may cost a block. Fewer warps then hide less of the waiting, which may cost more than a "
                "conflict.")),
    ),
    (
        Knob("KIB", ("8", "16", "32", "100"), "32", N_("KiB that a block declares")),
        Knob("THREADS", ("128", "256", "512"), "256", N_("Threads of a block")),
    ),
    _fitting,
    ({}, {"KIB": "100"}, {"KIB": "16"}),
    ("8", "7", "1"),
    "file=matmul&kernel=tiled",
    builds_on=("padding",),
)  # fmt: skip

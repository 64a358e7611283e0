"""What can be turned where a kernel is in Triton: stages, warps, sizes of blocks, autotune's configurations.

The compiler lays shared memory out, so there is no layout to write. What it makes of the tile follows from these
numbers. Each is turned by one step, the file is run with it, and what shared memory then serves is counted.
"""

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from smemviz.engines.backend import runner_of
from smemviz.engines.options import DEFAULT_TARGET, Progress, RunOptions
from smemviz.errors import SmemvizError
from smemviz.frontends.numba.launch_keywords import constants_of, triton_kernels
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.frontends.program import Program
from smemviz.model.counting.summary import summarize
from smemviz.model.hardware.hardware import Hardware
from smemviz.recordings.recording import Recording
from smemviz.suggest.rewrites import Edit, Rewrite, edited, replacing, rewritten, unified_diff
from smemviz.suggest.verify import new_mistake

_USUAL = {"num_warps": 4, "num_stages": 3}  # where a launch says nothing
_MOST = {"num_warps": 16, "num_stages": 6}
_SMALLEST_BLOCK = 16
_MOST_CONFIGURATIONS = 16
_NOTHING = re.compile(r", \w+: None")


@dataclass(frozen=True)
class Cost:
    """What all launches of a kernel cost together: blocks, requests, wavefronts, sectors of global memory.

    ``threads`` are those of a block, and ``shared_bytes`` what it has of shared memory, the most of any launch.
    """

    blocks: int
    threads: int
    shared_bytes: int
    requests: int
    wavefronts: int
    sectors: int

    @property
    def price(self) -> tuple[int, int, int]:
        """What changes are ordered by."""
        return self.wavefronts, self.sectors, self.requests


@dataclass(frozen=True)
class Turn:
    """One change that was tried: ``text`` says it, ``line`` is where, ``diff`` writes it into the file.

    ``after`` is None where ``problem`` says why it does not count. ``config`` is the number of a configuration that is
    taken, None for any other change; its ``diff`` is empty where the file computes its configurations.
    """

    kernel: str
    text: str
    line: int
    before: Cost
    after: Cost | None
    problem: str | None = None
    diff: str = ""
    config: int | None = None


@dataclass(frozen=True)
class _Change:
    text: str
    line: int
    edits: tuple[Edit, ...]
    constants: Mapping[str, int] = field(default_factory=dict)
    config: int | None = None


def turned(
    recording: Recording,
    program: Program,
    kernel: str | None,
    target: tuple[int, int] = DEFAULT_TARGET,
    config: int | None = None,
    progress: Progress | None = None,
) -> tuple[Turn, ...]:
    """Try every change of a file's kernels in Triton, one at a time; those of each kernel are the cheapest first.

    Args:
        recording: of the program, made by the engine that runs the changes too.
        program: the kernel file or script with its constants. It is run, once for each change.
        kernel: the one kernel to look at, None for every kernel.
        target: the compute capability that is compiled for where there is no GPU.
        config: the configuration of ``autotune`` that was recorded, None for the one that it finds.
        progress: called as ``progress(done, total, text)``.
    """
    if not isinstance(program, PythonProgram) or not program.trusted or program.is_notebook:
        return ()
    functions = triton_kernels(program.tree)
    launched = dict.fromkeys(launch.kernel for launch in recording.launches if not launch.file)
    names = [name for name in launched if kernel in (None, name) and name in functions]
    tuned = {name: tuner for name in names if (tuner := _tuner(functions[name]))}
    options = RunOptions(target=target, config=config or 0)
    runs: dict[tuple[object, ...], Recording | str] = {}
    if tuned:
        runs[(), options.config] = _run(program, recording, options)
    changes = [
        (name, change)
        for name in names
        for change in (
            _configurations(program, tuned[name], options.configurations.get(name, ()))
            if name in tuned
            else _numbers(program, functions[name])
        )
    ]
    turns: list[Turn] = []
    for number, (name, change) in enumerate(changes):
        if progress:
            progress(number, len(changes), f"{name}, {change.text}")
        key = (change.edits, config) if change.config is None else ((), change.config)
        if key not in runs:
            changed = rewritten(program, (Rewrite(change.edits, change.constants),)) if key[0] else program
            runs[key] = _run(changed, recording, RunOptions(target=target, config=key[1]))
        run = runs[key]
        problem = run if isinstance(run, str) else _other_work(recording, run, name)
        after = None if problem or isinstance(run, str) else _cost(run, name)
        diff = unified_diff(program.source, edited(program.source, change.edits), program.file)
        turns.append(Turn(name, change.text, change.line, _cost(recording, name), after, problem, diff, change.config))
    turns.sort(key=lambda turn: (names.index(turn.kernel), turn.after.price if turn.after else (math.inf,)))
    return tuple(turns)


def best(turns: Sequence[Turn]) -> Turn | None:
    """Return the change that saves most wavefronts, of those that save none the most sectors, None where none saves."""
    saving = [turn for turn in turns if turn.after and turn.after.price < turn.before.price]
    gains = lambda turn: tuple(a - b for a, b in zip(turn.after.price, turn.before.price, strict=True))  # noqa: E731
    return min(saving, key=gains, default=None)


def _run(program: Program, like: Recording, options: RunOptions) -> Recording | str:
    """Run a file; say why not where that is the case."""
    try:
        found = runner_of(program.language).record(program, like.engine, options, None, may_be_script=True)
    except SmemvizError as error:
        return str(error)
    return new_mistake(like.findings, found.findings) or found


def _other_work(before: Recording, after: Recording, kernel: str) -> str | None:
    """Say that a kernel works on other data than before, None where it works on the same."""
    was, now = (
        {
            (array.name, prod(array.shape) * array.itemsize)
            for launch in recording.launches
            if launch.kernel == kernel
            for array in launch.global_arrays
        }
        for recording in (before, after)
    )
    if was != now:
        return "its data has another size then: nothing to compare"
    stored, stores = _stored(before, kernel), _stored(after, kernel)
    if None in (stored, stores) or stored == stores:
        return None
    return f"it stores {stores:,} bytes then, not {stored:,}: it does other work"


def _stored(recording: Recording, kernel: str) -> int | None:
    """Return how many bytes of global memory a kernel writes, None where not every request was logged."""
    total = 0
    for launch in recording.launches:
        if launch.kernel == kernel:
            if launch.missing:
                return None
            requests, widths = launch.requests, np.array([site.width for site in launch.sites])
            stores = [n for n, site in enumerate(launch.sites) if (site.space, site.op) == ("global", "store")]
            for width in set(widths[stores].tolist()):
                at = requests.addresses[np.isin(requests.site, [n for n in stores if widths[n] == width])]
                total += (1 + launch.repeats) * width * len(np.unique(at[at >= 0]))
    return total


def _cost(recording: Recording, kernel: str) -> Cost:
    hardware = Hardware.of(recording)
    launches = [launch for launch in recording.launches if launch.kernel == kernel]
    rows = [(1 + launch.repeats, row) for launch in launches for row in summarize(launch, hardware)]
    return Cost(
        sum((1 + launch.repeats) * prod(launch.grid) for launch in launches),
        max(prod(launch.block) for launch in launches),
        max(launch.shared_bytes for launch in launches),
        sum(times * row.requests for times, row in rows if row.sectors is None),
        sum(times * (row.wavefronts or 0) for times, row in rows),
        sum(times * (row.sectors or 0) for times, row in rows),
    )


def _numbers(program: PythonProgram, kernel: ast.FunctionDef) -> Iterator[_Change]:
    """Give the changes of numbers that every launch of a kernel passes, or leaves as they usually are."""
    calls = [
        node
        for node in ast.walk(program.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Subscript)
        and ast.unparse(node.func.value) == kernel.name
    ]
    has_loop = any(isinstance(node, ast.For | ast.While) for node in ast.walk(kernel))
    for name in (*constants_of(kernel), *_USUAL) if calls else ():
        places = _places(program, kernel, calls, name)
        if places is None or (name == "num_stages" and not has_loop):
            continue
        shown, value, line, spans = places
        if name in _USUAL:
            near = (value - 1, value + 1) if name == "num_stages" else (value // 2, 2 * value)
            tried = [number for number in near if 1 <= number <= _MOST[name]]
        else:
            is_block = value >= _SMALLEST_BLOCK and value & (value - 1) == 0
            tried = [number for number in (value // 2, 2 * value) if is_block and number >= _SMALLEST_BLOCK]
        for number in tried:
            edits = tuple(span._replace(text=span.text.format(number)) for span in spans)
            yield _Change(f"{shown}: {value} -> {number}", line, edits, {shown: number})


def _places(
    program: PythonProgram, kernel: ast.FunctionDef, calls: Sequence[ast.Call], name: str
) -> tuple[str, int, int, list[Edit]] | None:
    """Return what a number is called, its value, its line and the edits that turn it, None where it cannot be."""
    given = [_passed(kernel, call, name) for call in calls]
    first = given[0]
    if len({value and ast.dump(value) for value in given}) > 1:
        return None
    if first is None:
        given_to: list[list[ast.expr | ast.keyword]] = [[*call.args, *call.keywords] for call in calls]
        ends = [max(map(_end, nodes), default=None) for nodes in given_to]
        if name not in _USUAL or None in ends or any(keyword.arg is None for c in calls for keyword in c.keywords):
            return None
        edits = [Edit(*end, *end, f", {name}={{}}") for end in ends if end]
        return name, _USUAL[name], edits[0].line, edits
    if isinstance(first, ast.Constant) and type(first.value) is int:
        value = program.overrides.get(name, first.value)
        return name, int(value), first.lineno, [replacing(value, "{}") for value in given if value]
    if isinstance(first, ast.Name) and first.id in program.constants:
        constant = program.constants[first.id]
        assigned = [
            node.value
            for node in program.tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno == constant.line and node.value
        ]
        if constant.kind == "int" and not constant.depends and assigned:
            return first.id, int(constant.value), constant.line, [replacing(assigned[0], "{}")]
    return None


def _end(node: ast.expr | ast.keyword) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _passed(kernel: ast.FunctionDef, call: ast.Call, name: str) -> ast.expr | None:
    """Return what a launch passes for a name, None for nothing."""
    parameters = [parameter.arg for parameter in (*kernel.args.posonlyargs, *kernel.args.args)]
    by_place = dict(zip(parameters, call.args, strict=False))
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), by_place.get(name))


def _tuner(kernel: ast.FunctionDef) -> ast.Call | None:
    """Return the call of ``autotune`` that decorates a kernel."""
    calls = (decorator for decorator in kernel.decorator_list if isinstance(decorator, ast.Call))
    return next((call for call in calls if ast.unparse(call.func).endswith("autotune")), None)


def _configurations(program: PythonProgram, tuner: ast.Call, known: Sequence[str]) -> Iterator[_Change]:
    """Give the configurations of ``autotune``; a list of them in the text can be cut down to one."""
    listed = next((keyword.value for keyword in tuner.keywords if keyword.arg == "configs"), None)
    listed = listed or (tuner.args[0] if tuner.args else None)
    if isinstance(listed, ast.Name):
        assigned = [node for node in program.tree.body if isinstance(node, ast.Assign)]
        listed = next((node.value for node in assigned if listed.id in map(ast.unparse, node.targets)), None)
    for number, text in enumerate(known[:_MOST_CONFIGURATIONS]):
        line, edits = tuner.lineno, tuple[Edit, ...]()
        if isinstance(listed, ast.List) and len(listed.elts) == len(known):
            chosen = listed.elts[number]
            line, kept = chosen.lineno, ast.get_source_segment(program.source, chosen)
            edits = (replacing(listed, f"[{kept}]"),)
        yield _Change(f"--config {number} ({_NOTHING.sub('', text)})", line, edits, config=number)

"""The budget of a test, limits that every launch it records must keep; and whether a kernel to fix keeps its own."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from smemviz.errors import InputError
from smemviz.model.hardware.hardware import H200, Hardware
from smemviz.project import project_at
from smemviz.recordings.recording import Recording
from smemviz.testing.fixture import Smem
from smemviz.testing.limits import Limit, SiteSelection, concerns
from smemviz.testing.witness import Quantity

if TYPE_CHECKING:
    from smemviz.lessons.course import Task

_QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
_KEYS = (*_QUANTITIES, "findings", "kernel", "cc")


def check_budget(
    smem: Smem, arguments: tuple[Any, ...], budget: Mapping[str, Any], *, of_project: bool = False
) -> str | None:
    """Return the text of the first witness against a budget, None when it is kept.

    ``budget`` has limits by name: ``max_degree``, ``excess``, ``sectors_per_request`` and ``findings``, which can only
    be 0; ``kernel`` when only launches of that kernel count, ``cc`` for another compute capability.

    One ``of_project`` is for whatever a test records: where that has nothing that it limits, it is kept.

    Raises:
        InputError: for a budget that says nothing or something else, or that nothing was recorded for.
    """
    unknown = [repr(argument) for argument in arguments] + [name for name in budget if name not in _KEYS]
    if unknown or not set(budget) - {"kernel", "cc"}:
        wrong = f"not {', '.join(unknown)}" if unknown else "not nothing"
        raise InputError(f"smem_budget takes a limit for {', '.join(_KEYS[:4])}, and kernel and cc; {wrong}")
    if budget.get("findings", 0) != 0:
        raise InputError(f"smem_budget allows findings=0 or says nothing of them, not {budget['findings']!r}")
    kernel, hardware = budget.get("kernel"), Hardware(budget.get("cc", H200.cc))
    launches = [
        launch for recording in smem.recordings for launch in recording.launches if kernel in (None, launch.kernel)
    ]
    if not launches and "findings" not in budget and not of_project:
        of = f" of {kernel}" if kernel else ""
        raise InputError(f"smem_budget: the test recorded no launch{of} through smem")
    for quantity in _QUANTITIES:
        if quantity not in budget:
            continue
        limit = Limit(quantity, budget[quantity])
        meant = [launch for launch in launches if concerns(launch, limit, SiteSelection())]
        if not meant and not of_project:
            raise InputError(f"smem_budget: no recorded launch has an access to {limit.space} memory for {quantity}")
        for launch in meant:
            problem = smem.exceeded(launch, limit, SiteSelection(), hardware)
            if problem is not None:
                return problem.text
    if "findings" in budget:
        for recorded in launches if kernel else smem.recordings:
            problem = smem.found(recorded)
            if problem is not None:
                return problem.text
    return None


def project_budget(root: Path) -> dict[str, Any]:
    """Return the limits of a project as a budget, counted for its compute capability; empty where it has none."""
    project = project_at(root)
    return {**project.limits, **({"cc": Hardware.read(project.cc).cc} if project.cc else {})} if project.limits else {}


def what_is_missing(task: Task, recording: Recording) -> str | None:
    """Return why a run of a text does not pass, a witness where a limit is exceeded; None when it is fixed.

    ``main()`` compares the results, so it has to be the task's, and so have the constants that it uses.
    """
    changed = _changed(task.source, recording.source)
    if changed:
        return f"{changed} is not as it was; change the kernel and leave what launches and checks it"
    smem = Smem(Path(), Path())
    smem.recordings.append(recording)
    try:
        witness = check_budget(smem, (), {**task.budget, "kernel": task.kernel})
        # A finding of no launch, such as a result that main() does not expect, is not among the kernel's.
        witness = witness or check_budget(smem, (), {"findings": 0})
    except InputError as error:
        return str(error)
    if witness is None and task.shared_bytes is not None:
        most = max(launch.shared_bytes for launch in recording.launches)
        if most > task.shared_bytes:
            return f"{task.kernel} takes {most:,} bytes of shared memory; at most {task.shared_bytes:,} are allowed"
    return witness


def _changed(before: str, now: str) -> str:
    """Return what of main(), or of the constants it uses, is different; "" where nothing is."""
    old, new = _constants(before), _constants(now)
    if old["main"] != new.get("main"):
        return "main()"
    used = {node.id for node in ast.walk(ast.parse(before).body[-1]) if isinstance(node, ast.Name)}
    return next((name for name in sorted(used & set(old)) if name != "main" and not _kernel(old[name])
                 and old[name] != new.get(name)), "")  # fmt: skip


def _kernel(dumped: str) -> bool:
    return dumped.startswith("FunctionDef")


def _constants(source: str) -> dict[str, str]:
    """Return what the functions and constants of a text are, by their names."""
    definitions = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef):
            definitions[statement.name] = ast.dump(statement)
        elif isinstance(statement, ast.Assign):
            definitions |= {
                target.id: ast.dump(statement.value) for target in statement.targets if isinstance(target, ast.Name)
            }
    return definitions

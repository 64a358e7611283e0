"""Whether a kernel is fixed: the text still does what was asked, and keeps its budget."""

from __future__ import annotations

import ast
from pathlib import Path

from smemviz.errors import InputError
from smemviz.lessons.tasks import Task
from smemviz.recordings.recording import Recording
from smemviz.testing.budget import check_budget
from smemviz.testing.fixture import Smem


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

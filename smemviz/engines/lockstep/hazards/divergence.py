"""Barriers that a part of a block does not reach, and whether that part has anything left to do."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from smemviz.recordings.findings import Facts


def divergence(
    kernel: ast.FunctionDef | None, barrier: ast.expr, present: int, missing: int, *, waits: bool = False
) -> tuple[str, Facts]:
    """Return the kind of finding that a barrier is which ``missing`` threads of a block skip, and its facts.

    With ``waits`` others wait for them all the same: at a barrier of the grid the first thread counts for its block.
    """
    facts = {"code": ast.unparse(barrier), "present": present, "missing": missing}
    is_end = not waits and _skipped_to_the_end(kernel.body if kernel else (), barrier)
    return "barrier_skipped" if is_end else "barrier_divergence", facts


def _skipped_to_the_end(body: Sequence[ast.stmt], barrier: ast.expr) -> bool:
    """Tell whether a body ends for threads that skip a barrier: it is in the last ``if`` or loop of the body.

    In a loop the barrier may stand under no other condition and behind no ``continue``, after which its threads would
    go round again.
    """
    last = next((statement for statement in reversed(body) if not _does_nothing(statement)), None)
    if not isinstance(last, ast.If | ast.For | ast.While) or last.orelse:
        return False
    if isinstance(last, ast.While) and any(part is barrier for part in ast.walk(last.test)):
        return True  # who does not come to it has left the loop
    if any(_is(statement, barrier) for statement in last.body):
        return not any(isinstance(node, ast.Continue) for node in ast.walk(last))
    return isinstance(last, ast.If) and _skipped_to_the_end(last.body, barrier)


def _is(statement: ast.stmt, barrier: ast.expr) -> bool:
    return isinstance(statement, ast.Expr) and statement.value is barrier


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (isinstance(statement, ast.Return) and statement.value is None)

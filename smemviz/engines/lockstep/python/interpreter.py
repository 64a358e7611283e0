"""Runs a kernel on its syntax tree: what each kind of node does, in all threads of a batch of blocks at once.

A statement takes the active threads and gives those that go on to the next one. Threads that part in an ``if`` or
leave a loop one by one meet again at the end of that statement.
"""

from __future__ import annotations

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python import assignments, calls, loops, operations, statements, thread_expressions
from smemviz.engines.lockstep.python.frame import Frame, Language
from smemviz.engines.lockstep.python.inference.branches import versions_of
from smemviz.engines.lockstep.values.typing import Value

PYTHON = Language(
    expressions=thread_expressions.EXPRESSIONS | operations.EXPRESSIONS | calls.EXPRESSIONS,
    statements=statements.STATEMENTS | assignments.STATEMENTS | loops.STATEMENTS,
    versions=versions_of,
)


def run(machine: Machine, arguments: dict[str, Value]) -> None:
    """Run the kernel of a machine on the batch of blocks that it is set up for."""
    Frame(PYTHON, machine, machine.table.root, machine.root).run(arguments)

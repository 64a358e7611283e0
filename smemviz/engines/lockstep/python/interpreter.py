"""Runs a launch of a kernel on its syntax tree: in all threads of a batch of blocks at once.

A statement takes the active threads and gives those that go on to the next one. Threads that part in an ``if`` or
leave a loop one by one meet again at the end of that statement.
"""

from __future__ import annotations

from smemviz.engines.lockstep.machine import Machine
from smemviz.engines.lockstep.python import calls, loops, operations, statements, thread_expressions
from smemviz.engines.lockstep.python.frame import Frame, Language
from smemviz.engines.lockstep.python.inference.branches import versions_of
from smemviz.engines.lockstep.values.typing import Value

PYTHON = Language(
    expressions=thread_expressions.EXPRESSIONS | operations.EXPRESSIONS | calls.EXPRESSIONS,
    statements=statements.STATEMENTS | loops.STATEMENTS,
    versions=versions_of,
)


def interpret(machine: Machine, arguments: dict[str, Value]) -> None:
    """Run a launch to its end, with its arguments by the names of parameters.

    Raises:
        TooLongError: where it takes long and may leave that to machine code.
        PlaceError: for what ends a launch, with the mistakes that were met before.
    """
    table = machine.table
    machine.run(lambda: Frame(PYTHON, machine, table.root, machine.root).run(arguments), together=table.cooperative)

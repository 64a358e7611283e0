"""What a rule is: how the call of a function that a kernel may name gets its value."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from smemviz.engines.lockstep.python.frame import Frame
from smemviz.engines.lockstep.values.operators import NoRuleError
from smemviz.engines.lockstep.values.ranges import Range
from smemviz.engines.lockstep.values.typing import NotAScalarError, Value
from smemviz.messages import english


@dataclass(frozen=True)
class Rule:
    """What a call does, and how many arguments it takes; ``run(frame, node, arguments)`` gives its value."""

    run: Callable[[Frame, ast.Call, list[Value]], Value]
    fewest: int
    most: int


def apply(rule: Rule, frame: Frame, node: ast.Call, arguments: list[Value]) -> Value:
    """Apply a rule at a call; a wrong number or kind of argument is named."""
    if not rule.fewest <= len(arguments) <= rule.most:
        wanted = str(rule.fewest) if rule.fewest == rule.most else f"{rule.fewest} to {rule.most}"
        name, n = ast.unparse(node.func), len(arguments)
        what = english("{function} takes {wanted} arguments, not {n}", function=name, wanted=wanted, n=n)
        if wanted == "1":
            what = english("{function} takes 1 argument, not {n}", function=name, n=n)
        raise frame.wrong(node, what)
    try:
        return rule.run(frame, node, arguments)
    except NotAScalarError as error:
        if any(isinstance(argument, Range) for argument in arguments):
            what = english("{function} of {dtype}", function=ast.unparse(node.func), dtype=error.args[0])
            write = english("a loop")
            what = english("{what} is not executed in lockstep; write {instead}", what=what, instead=write)
            raise frame.wrong(node, what) from None
        what = english("{function} of {dtype}", function=ast.unparse(node.func), dtype=error.args[0])
        raise frame.none_of_numba(node, what) from None
    except NoRuleError as error:
        raise frame.wrong(node, english("Numba has no {what}; convert an argument", what=error.args[0])) from None


def plain(function: Callable[..., Value], fewest: int, most: int | None = None) -> Rule:
    """Return the rule of a function of values alone."""
    most = fewest if most is None else most
    return Rule(lambda frame, node, arguments: function(*arguments), fewest, most)

"""Threads one after the other in Python, and the requests that a warp makes of what each of them did.

Lanes of a warp make a request together when they are at the same place of the source in the same iterations of the
loops around it.
"""

import ast
import textwrap
from collections import Counter, defaultdict


class _Places(ast.NodeTransformer):
    """Has every element of ``out`` say where it stands, and every loop count its iterations."""

    def __init__(self):
        self.loops = []
        self.around = {}

    def visit_Subscript(self, node):
        place = node.lineno - 1, node.col_offset
        self.around[place] = tuple(self.loops)
        index = ast.Tuple([ast.Constant(place), self.visit(node.slice)], ast.Load())
        return ast.Subscript(node.value, index, node.ctx)

    def visit_For(self, node):
        items = self.visit(node.iter)
        return self._loop(node, lambda turn, body: ast.For(node.target, items, [ast.Expr(turn), *body], []))

    def visit_While(self, node):
        def made(turn, body):
            return ast.While(ast.BoolOp(ast.And(), [turn, self.visit(node.test)]), body, [])

        return self._loop(node, made)

    def _loop(self, node, made):
        number = ast.Constant((node.lineno, node.col_offset))
        self.loops.append(number.value)
        loop = made(_call("turn", number), self._all(node.body))
        self.loops.pop()
        loop.orelse = self._all(node.orelse)
        return [ast.Expr(_call("start", number)), loop]

    def _all(self, body):
        made = [self.visit(one) for one in body]
        return [one for some in made for one in (some if isinstance(some, list) else [some])]


def _call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


class _Out:
    """The array, as one thread after the other sees it; ``seen`` are its accesses by block, place and iterations."""

    def __init__(self, values, around, turns):
        self.values, self.around, self.turns = values, around, turns
        self.seen = defaultdict(dict)

    def _note(self, place, op, index):
        iterations = tuple(self.turns[loop] for loop in self.around[place])
        self.seen[self.block, *place, op, iterations][self.lane] = index

    def __getitem__(self, at):
        self._note(at[0], "load", at[1])
        return self.values[at[1]]

    def __setitem__(self, at, value):
        self._note(at[0], "store", at[1])
        self.values[at[1]] = value


def run_alone(body, start, threads, block):
    """Run a body of ``i`` and ``out`` for every thread; blocks are no longer than a warp.

    Returns what ``out`` holds then, and how often each request was made: block, line of the body from 1, column, op,
    and the elements by lane.
    """
    tree = ast.parse("def f(i, out):\n" + textwrap.indent(body, "  "))
    places = _Places()
    tree = ast.fix_missing_locations(places.visit(tree))
    turns = {}

    def turn(loop):
        turns[loop] += 1
        return True

    scope = {"start": lambda loop: turns.update({loop: 0}), "turn": turn}
    exec(compile(tree, "alone", "exec"), scope)
    out = _Out([int(value) for value in start], places.around, turns)
    for i in range(threads):
        out.block, out.lane = divmod(i, block)
        scope["f"](i, out)
    requests = Counter((*key[:4], tuple(sorted(lanes.items()))) for key, lanes in out.seen.items())
    return out.values, requests

"""Random functions in which variables are assigned numbers of different types in branches and loops."""

from random import Random

TYPES = ["int8", "int32", "int64", "uint8", "uint32", "float32", "float64"]
NAMES = ["x", "y", "z"]
# What shows of which type a variable is: float32 or not, and digits that a float64 has not.
RESULTS = [result for name in NAMES for result in (f"{name} * float32(0.3)", f"({name} + {2**53 + 1}) - {2**53 + 1}")]


def program(seed: int, statements: int = 6) -> list[str]:
    """Return the lines of a function of ``a_int8`` and so on, ``i`` and ``n``, which assign all names."""
    return _Maker(Random(f"program {seed}")).lines(statements)


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._loops = 0

    def lines(self, statements: int) -> list[str]:
        first = [f"{name} = {self._leaf()}" for name in NAMES]
        return first + self._block(statements, 3, loop=False)

    def _block(self, count: int, depth: int, *, loop: bool) -> list[str]:
        return [line for _ in range(count) for line in self._statement(depth, loop=loop)]

    def _statement(self, depth: int, *, loop: bool) -> list[str]:
        pick = self._random.random()
        if depth and pick < 0.25:
            found = [f"if {self._test()}:", *self._inner(depth, loop=loop)]
            if self._random.random() < 0.3:
                found += [f"elif {self._test()}:", *self._inner(depth, loop=loop)]
            return found + (["else:", *self._inner(depth, loop=loop)] if self._random.random() < 0.5 else [])
        if depth and pick < 0.4:
            self._loops += 1
            k = f"k{self._loops}"
            end = self._random.choice(["2", "0", "n", "a_int32[i] & 3"])
            found = [f"for {k} in range({end}):"]
            if self._random.random() < 0.4:
                found = [f"{k} = 0", f"while {k} < {end}:", f"    {k} += 1"]
            found += self._inner(depth, loop=True)
            return found + (["else:", *self._inner(depth, loop=loop)] if self._random.random() < 0.2 else [])
        if loop and pick < 0.5:
            return [f"if {self._test()}:", f"    {self._random.choice(['break', 'continue'])}"]
        name = self._random.choice(NAMES)
        if pick < 0.6:
            return [f"{name} {self._random.choice('+-*')}= {self._value()}"]
        if pick < 0.7:
            return [f"{name} = {self._value()} if {self._test()} else {self._value()}"]
        if pick < 0.75:
            return [f"{name}, {self._random.choice(NAMES)} = {self._value()}, {self._value()}"]
        return [f"{name} = {self._value()}"]

    def _inner(self, depth: int, *, loop: bool) -> list[str]:
        return [f"    {line}" for line in self._block(self._random.randint(1, 3), depth - 1, loop=loop)]

    def _test(self) -> str:
        if self._random.random() < 0.4:
            return self._random.choice(["n > 5", "n < 5"])
        return f"{self._random.choice([*NAMES, 'n', 'a_int32[i]'])} {self._random.choice('<>')} {self._leaf()}"

    def _leaf(self) -> str:
        return self._random.choice([*(f"a_{name}[i]" for name in TYPES), "1", "2.5", "n", "True"])

    def _value(self) -> str:
        pick = self._random.random()
        if pick < 0.4:
            return self._leaf()
        if pick < 0.5:
            return self._random.choice(NAMES)
        if pick < 0.6:
            return f"(-{self._random.choice(NAMES)})"
        return f"({self._random.choice(NAMES)} {self._random.choice('+-*')} {self._leaf()})"


def function(lines: list[str]) -> str:
    """Return a function ``f`` of the arrays, ``i`` and ``n`` that returns all results."""
    text = "".join(f"    {line}\n" for line in lines)
    return f"def f({', '.join(f'a_{name}' for name in TYPES)}, i, n):\n{text}    return {', '.join(RESULTS)}\n"


def kernel(lines: list[str]) -> str:
    """Return a kernel of the arrays, ``n`` and ``out`` that stores all results."""
    text = "".join(f"    {line}\n" for line in ["i = cuda.grid(1)", *lines])
    stores = "".join(f"    out[{k}, i] = {result}\n" for k, result in enumerate(RESULTS))
    return f"@cuda.jit\ndef kernel({', '.join(f'a_{name}' for name in TYPES)}, n, out):\n{text}{stores}"

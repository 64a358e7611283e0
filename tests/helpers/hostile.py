"""Texts that want more than the editor gives: more time, more memory, or a way out.

Each is a name, a text, and what the one line of refusal has to say. ``host`` wraps statements of
a ``main()``, ``kernel`` those of a kernel.
"""

from dataclasses import dataclass
from textwrap import indent


@dataclass(frozen=True)
class Hostile:
    """A text and a part of the answer to it; ``endless`` tells that nothing but the clock ends it soon."""

    name: str
    source: str
    says: str
    endless: bool = False


_HEAD = "import numpy as np\nfrom numba import cuda, float32, int32\n\n\n"
_QUIET = "@cuda.jit\ndef quiet(a):\n    a[0] = 1.0\n\n\n"
_LAUNCH = "    quiet[1, 32](np.zeros(32, np.float32))\n"


def host(body: str) -> str:
    """Return a kernel file whose ``main()`` does this before it launches anything."""
    return f"{_HEAD}{_QUIET}def main():\n{indent(body, '    ')}\n{_LAUNCH}"


def kernel(body: str, launch: str = "1, 32") -> str:
    """Return a kernel file with this in its kernel."""
    text = f"{_HEAD}@cuda.jit\ndef loud(a):\n{indent(body, '    ')}\n\n\n"
    return f"{text}def main():\n    loud[{launch}](np.zeros(64, np.float32))\n"


def _module(text: str) -> str:
    return f"{_HEAD}{_QUIET}{text}\n\n\ndef main():\n{_LAUNCH}"


def _constants(*lines: str) -> str:
    return "\n".join(["import numpy as np", "N0 = 1 << 1000", *lines, _module("pass")])


def _doubling(depth: int) -> str:
    """Return a kernel whose device functions each call the next one twice."""
    device = "@cuda.jit(device=True)\ndef f{}(x):\n    return {}\n\n\n"
    functions = "".join(device.format(i, f"f{i + 1}(x) + f{i + 1}(x)") for i in range(depth))
    text = f"{functions}{device.format(depth, 'x')}@cuda.jit\ndef twice(a):\n    a[0] = f0(a[0])"
    return _module(text).replace("quiet[1", "twice[1")


ESCAPES = (
    Hostile("import os", host("import os\nos.system('true')"), "os is not available"),
    Hostile("import by dunder", host("__import__('os').system('true')"), "__import__ is not defined"),
    Hostile("import of a submodule", _module("from numpy import ctypeslib"), "numpy.ctypeslib is not available"),
    Hostile("import through numba", _module("from numba import core"), "numba.core is not available"),
    Hostile("import from the package", _module("from smemviz import errors"), "smemviz is not available"),
    Hostile("relative import", _module("from . import secrets"), ". is not available"),
    Hostile("star import", _module("from numpy import *"), "numpy.* is not available"),
    Hostile("eval", host("eval('1 + 1')"), "eval is not defined"),
    Hostile("exec", host("exec('x = 1')"), "exec is not defined"),
    Hostile("compile", host("compile('1', 'f', 'eval')"), "compile is not defined"),
    Hostile("open", host("open('/etc/passwd')"), "open is not defined"),
    Hostile("getattr", host("getattr(np, 'load')"), "getattr is not defined"),
    Hostile("globals", host("globals()['x'] = 1"), "globals is not defined"),
    Hostile("vars", host("vars(np)"), "vars is not defined"),
    Hostile("type", host("type(1).mro()"), "type is not defined"),
    Hostile("the builtins", host("__builtins__['eval']('1')"), "__builtins__ is not defined"),
    Hostile("class of a tuple", host("().__class__.__base__.__subclasses__()"), "is not available in the editor"),
    Hostile("class of an array", host("np.zeros(1).__class__"), "is not available in the editor"),
    Hostile("globals of a function", host("np.zeros.__globals__"), "is not available in the editor"),
    Hostile("code of a kernel", host("quiet.py_func.__code__"), "is not available in the editor"),
    Hostile("module of a module", host("np.random.os"), "is not available in the editor"),
    Hostile("file of NumPy", host("np.load('/etc/passwd')"), "np.load is not available"),
    Hostile("file of an array", host("np.zeros(4).tofile('out')"), "is not available in the editor"),
    Hostile("file by fromfile", host("np.fromfile('/etc/passwd', np.uint8)"), "np.fromfile is not available"),
    Hostile("pickle of an array", host("np.zeros(1).dumps()"), "is not available in the editor"),
    Hostile("objects in an array", host("np.zeros(4, 'O')"), "the text 'O' cannot be used"),
    Hostile("objects by astype", host("np.zeros(4).astype('object')"), "cannot be used"),
    Hostile("a dtype of texts", host("np.zeros(4, 'S1000000000')"), "cannot be used"),
    Hostile("attribute through a format", host("x = '{0.__class__}'.format(1)"), "is not available in the editor"),
    Hostile("memory by ctypes", host("np.zeros(4).ctypes.data"), "is not available in the editor"),
    Hostile("a signature that is evaluated", _module("@cuda.jit('__import__(\"os\")')\ndef k(a): pass"), "a signature"),
    Hostile("another decorator", _module("@print\ndef k(a): pass"), "a decorator other than cuda.jit"),
    Hostile("a class", host("class A: pass"), "a class is not run"),
    Hostile("assignment to a module", host("np.zeros = 1"), "assignment to an attribute"),
    Hostile("a dunder name", host("__smemviz_dtype__ = 1"), "is not a name for the editor"),
    Hostile("dunder in a kernel", kernel("a[0] = a.__class__"), "__class__"),
    Hostile("import in a kernel", kernel("import os"), "in"),
    Hostile("a dtype of records", host("np.dtype([('C', np.float32)])"), "a dtype of"),
    Hostile("a chain through numba", kernel("a[0] = cuda.types.abstract.weakref.sys.maxsize"), "is not executed"),
    Hostile("a file in a branch", host("if len(np.zeros(3)) == 3:\n    open('/etc/passwd')"), "open is not defined"),
    Hostile("eval in a kernel", kernel("a[0] = eval('1')"), "eval"),
    Hostile("a module in a kernel", kernel("a[0] = np.random.rand()"), "np.random.rand"),
)

GREEDY = (
    Hostile("endless loop", host("while True:\n    pass"), "more than 200,000 steps"),
    Hostile("long loop", host("for i in range(10**18):\n    pass"), "more than 200,000 steps"),
    Hostile("endless loop in a kernel", kernel("while True:\n    a[0] = 1.0"), "", endless=True),
    Hostile("long loop in a kernel", kernel("for i in range(10**12):\n    a[0] = i"), "", endless=True),
    Hostile("recursion", _module("def f(n):\n    return f(n + 1)\n\n\nf(0)"), "more than 16 deep"),
    Hostile("recursion in a kernel", kernel("a[0] = 1.0").replace("a[0] = 1.0", "loud(a)"), ""),
    Hostile("giant array", host("x = np.zeros(10**12)"), "the editor gives an array"),
    Hostile("giant array by broadcasting", host("x = np.zeros((10**6, 1)) + np.zeros(10**6)"), "gives an array"),
    Hostile("giant outer product", host("x = np.outer(np.zeros(10**6), np.zeros(10**6))"), "gives an array"),
    Hostile("giant tile", host("x = np.tile(np.zeros(1000), 10**9)"), "gives an array"),
    Hostile("giant count", host("x = np.bincount(np.array([10**12]))"), "gives an array"),
    Hostile("giant random array", host("x = np.random.default_rng(0).random(10**11)"), "gives an array"),
    Hostile("giant padding", host("x = np.pad(np.zeros(1), 10**11)"), "gives an array"),
    Hostile("giant device array", host("x = cuda.device_array(10**11, np.float32)"), "gives an array"),
    Hostile(
        "many arrays", host("kept = []\nfor i in range(4000):\n    kept.append(np.ones(7 * 10**6))"), "gives an array"
    ),
    Hostile("nested arrays", host("x = 0\nfor i in range(4000):\n    x = [x, np.zeros(7 * 10**6)]"), "memory"),
    Hostile(
        "memory that is swallowed",
        host("x = 0\nwhile True:\n    try:\n        x = [x, np.zeros(7 * 10**6)]\n    except:\n        x = [x, 1]"),
        "memory",
    ),
    Hostile("a power", host("x = 9 ** 9 ** 9"), "bits"),
    Hostile("a shift", host("x = 1 << 10**9"), "bits"),
    Hostile("squares of squares", host("x = 3\nfor i in range(60):\n    x = x * x"), "bits"),
    Hostile("a long text", host("x = 'a' * 10**10"), "more than"),
    Hostile("a text that doubles", host("x = 'ab'\nfor i in range(60):\n    x = x + x"), "characters"),
    Hostile("a list that doubles", host("x = [1]\nfor i in range(60):\n    x = x + x"), "items"),
    Hostile("a list in itself", host("x = []\nx.append(x)\nprint(x)\ny = np.array(x)"), ""),
    Hostile("lists of lists", host("x = [1]\nfor i in range(60):\n    x = [x, x]\ny = np.array(x)"), "gives an array"),
    Hostile("a wide format", host("x = f'{1:999999999}'"), "the format"),
    Hostile("a round number", host("x = round(5, -10**9)"), "100 digits"),
    Hostile("much output", host("for i in range(10**5):\n    print('x' * 9000)"), "more than 200,000 steps"),
    Hostile("a giant grid", kernel("a[0] = 1.0", "2**31 - 1, 1024"), "lockstep runs"),
    Hostile("a giant block", kernel("a[0] = 1.0", "1, 10**6"), ""),
    Hostile("giant shared memory", kernel("t = cuda.shared.array(10**12, float32)\na[0] = t[0]"), ""),
    Hostile("giant local memory", kernel("t = cuda.local.array(10**9, float32)\na[0] = t[0]", "64, 1024"), ""),
    Hostile("too many launches", host("for i in range(10**4):\n    quiet[1, 32](np.zeros(32))"), "launches"),
    Hostile("deep brackets", "x = " + "(" * 5000 + ")" * 5000, "brackets nest"),
    Hostile("many statements", "a;" * 32_000, "more than 24,000 parts"),
    Hostile("deep unary", host("x = " + "-" * 150 + "1"), "nests"),
    Hostile("a long sum", host("x = " + "+".join("1" * 150)), "nests"),
    Hostile("deep blocks", "".join(" " * i + "if 1:\n" for i in range(90)) + " " * 90 + "pass", "ests"),
    Hostile("a very long sum", host("x = " + "+".join("1" * 20_000)), ""),
    Hostile("a long chain of attributes", host("x = np" + ".a" * 150), "nests"),
    Hostile("a long text", "x = 1\n" * 20_000, "the editor takes 65,536"),
    Hostile("null bytes", "x = 1\0", "characters that no Python file has"),
    Hostile("half a surrogate", "x = '\ud800'", "characters that no Python file has"),
    Hostile("not Python", "def main(:\n", "is not valid Python"),
    Hostile("a huge number", host("x = " + "9" * 5000), ""),
    Hostile("nothing", "", "no kernel here"),
    Hostile("constants that square", _constants(*(f"N{i + 1} = N{i} * N{i}" for i in range(40))), "bits"),
    Hostile("a round constant", _constants("N1 = round(N0, -99999999)"), "100 digits"),
    Hostile("a long dtype", _constants("N1 = np.float32 * 300000000"), "one side is not a number"),
    Hostile("a range beyond counting", host("x = len(range(10**30))"), "gives an array"),
    Hostile("a range in a list", host("x = sum([range(10**30)])"), "gives an array"),
    Hostile("a list as deep as it is long", host("x = []\nfor i in range(9000):\n    x = [x]\nprint(x)"), "flatter"),
    Hostile("a tuple of itself", host("x = ()\nfor i in range(9000):\n    x = (x, x)\ny = x == x"), "gives an array"),
    Hostile("differences of differences", host("x = np.diff(np.zeros(5), 10**12)"), "it was stopped", endless=True),
    Hostile("products of products", host("x = np.ones((2000, 2000))\nfor i in range(500):\n    x = x @ x"), "gives an"),
    Hostile("functions that call twice", _doubling(24), "it was stopped", endless=True),
    Hostile(
        "many atomics",
        kernel("for i in range(10**6):\n    cuda.atomic.add(a, 0, 1.0)", "4096, 1024"),
        "it was stopped",
        endless=True,
    ),
    Hostile("a loop without end", kernel("for i, x in enumerate(range(10**12)):\n    a[0] = i"), "", endless=True),
    Hostile("a barrier in an endless loop", kernel("while a[0] == 0.0:\n    cuda.syncthreads()"), "", endless=True),
    Hostile("a tuple that doubles", kernel("t = (1,)\nfor i in range(100):\n    t = t + t"), "a tuple of more than"),
    Hostile("much dynamic memory", kernel("a[0] = 1.0", "1, 32, 0, 10**15"), "dynamic shared memory"),
    Hostile("a negative grid", kernel("a[0] = 1.0", "-1, 32"), "has a size below 1"),
    Hostile("a stream with arguments", host("cuda.stream().synchronize(1)"), "takes 1 positional argument"),
    Hostile("an infinite number", host("x = int(np.inf)"), "cannot convert float infinity"),
    Hostile("an index of many numbers", host("x = np.zeros(9)[np.zeros((10**4, 10**4), np.int8)]"), "gives an array"),
)

# Of exceptions, functions without a name, and contexts; run within 2,000 steps.
# Slips rather than attacks: what a hasty hand leaves of a good text.
ODD = (
    Hostile("an array as a grid", host("quiet[np.array([1]), 1](np.zeros(1))"), "the grid is one to three integers"),
    Hostile(
        "an array as shared bytes",
        host("quiet[1, 1, 0, np.array([1])](np.zeros(1))"),
        "dynamic shared memory is a number of bytes",
    ),
    Hostile(
        "an array as an option of jit",
        _module("@cuda.jit(device=np.zeros(2))\ndef f(a):\n    pass"),
        "The truth value of an array",
    ),
    Hostile(
        "an array as a decorator", _module("@(np.zeros(2) + 1)\ndef f(a):\n    pass"), "a decorator other than cuda.jit"
    ),
    Hostile("break outside of a loop", kernel("a[0] = 1.0\nbreak"), "break is outside of a loop"),
    Hostile("continue outside of a loop", kernel("if a[0] == 0:\n    continue"), "continue is outside of a loop"),
    Hostile("a long number", host(f"x = (0x{'f' * 5000}, nobody)"), "a whole number of more than 8,192 bits"),
    Hostile("a long number in a kernel", kernel(f"nobody(0x{'f' * 5000})"), "a whole number of more than 8,192 bits"),
    Hostile("a matrix product of numbers", kernel("a[0] = cuda.laneid @ 2"), "Numba has no int64 @ int64"),
    Hostile("an atomic of nothing", kernel("cuda.atomic.sub()"), "it is not known which array cuda.atomic.sub() is"),
    Hostile("a constant array of nothing", kernel("a[0] = cuda.const.array_like()[0]"), "array_like"),
    Hostile("a grid of many axes", kernel("a[0] = cuda.grid(1 << 70)"), "cuda.grid"),
    Hostile(
        "a tuple of a function as an index",
        kernel("v = cuda.libdevice.sincosf(1.0)\na[v] = 1.0"),
        "a[v] has 2 indices for 1 axes",
    ),
    Hostile(
        "a complex number to math",
        "import math\n" + kernel("a[0] = math.copysign(a[0], 1j)"),
        "Numba has no math function of complex128",
    ),
    Hostile("an array without a shape", kernel("s = cuda.shared.array((), float32)"), "of shape () has no elements"),
    Hostile(
        "a mask that leaves memory as it is",
        host("x = np.add(np.zeros(9), 1, where=np.zeros(9) > 1)"),
        "the argument where",
    ),
)

CATCHING = (
    Hostile(
        "an import that is tried",
        host("try:\n    import os\nexcept ImportError:\n    os = np\nos.system('true')"),
        "available in",
    ),
    Hostile(
        "the frame of an error",
        host("try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame"),
        "available in",
    ),
    Hostile(
        "the arguments of an error",
        host("try:\n    1 / 0\nexcept Exception as e:\n    e.args"),
        "is not available in the editor",
    ),
    Hostile("the classes of errors", host("Exception.__subclasses__()"), "is not available in the editor"),
    Hostile("an error to NumPy", host("np.array([ValueError('x'), ValueError])"), "cannot be used"),
    Hostile("a function to NumPy", host("np.array([lambda: 1])"), "cannot be used"),
    Hostile("the code of a lambda", host("(lambda: 1).__code__"), "is not available in the editor"),
    Hostile("an interrupt", host("raise KeyboardInterrupt"), "KeyboardInterrupt is not defined"),
    Hostile("an error of every kind", host("try:\n    1 / 0\nexcept BaseException:\n    pass"), "is not defined"),
    Hostile("a file as a context", host("with open('/etc/passwd') as f:\n    pass"), "open is not defined"),
    Hostile("an array as a context", host("with np.zeros(3) as f:\n    pass"), "with, other than of"),
    Hostile("a context that is kept", host("x = cuda.pinned(np.zeros(3))\nx.gen.gi_frame"), "cannot be used"),
    Hostile(
        "a limit that is swallowed",
        host("while True:\n    try:\n        x = np.zeros(10**12)\n    except:\n        pass"),
        "gives an array",
    ),
    Hostile(
        "steps that are swallowed",
        host("while True:\n    try:\n        while True:\n            pass\n    except Exception:\n        pass"),
        "more than 2,000 steps",
    ),
    Hostile(
        "a refusal that is swallowed",
        host("try:\n    class A: pass\nexcept Exception:\n    pass\nx = 1"),
        "a class is not run",
    ),
    Hostile(
        "a depth that is swallowed",
        host("def f():\n    try:\n        f()\n    except:\n        f()\n    finally:\n        f()\nf()"),
        "more than 16 deep",
    ),
    Hostile(
        "a limit that finally forgets",
        host("def f():\n    try:\n        x = np.zeros(10**12)\n    finally:\n        return 1\nf()"),
        "gives an array",
    ),
    Hostile(
        "a limit that finally breaks",
        host("while True:\n    try:\n        x = 9 ** 9 ** 9\n    finally:\n        break"),
        "bits",
    ),
    Hostile(
        "an endless finally",
        host("try:\n    x = 1 / 0\nfinally:\n    while True:\n        pass"),
        "more than 2,000 steps",
    ),
    Hostile(
        "a loop that finally goes on",
        host("while True:\n    try:\n        break\n    finally:\n        continue"),
        "more than 2,000 steps",
    ),
    Hostile(
        "errors without end",
        host("while True:\n    try:\n        raise ValueError('x' * 9000)\n    except ValueError as e:\n        x = e"),
        "more than 2,000 steps",
    ),
    Hostile("a lambda in itself", host("f = lambda n: f(n + 1)\nf(0)"), "more than 16 deep"),
    Hostile("a lambda that is given itself", host("(lambda f: f(f))(lambda f: f(f))"), "more than 16 deep"),
    Hostile(
        "a lambda that calls twice",
        host("f = lambda n: f(n - 1) + f(n - 1) if n else 0\nwhile True:\n    f(14)"),
        "more than 2,000 steps",
    ),
    Hostile("deep lambdas", host("x = " + "lambda: " * 150 + "1"), "nests"),
    Hostile("functions around functions", host("f = 1\nfor i in range(10**5):\n    f = lambda g=f: g"), "2,000 steps"),
    Hostile("a giant pinned array", host("with cuda.pinned(np.zeros(10**12)):\n    pass"), "gives an array"),
    Hostile("an error that doubles", host("x = 'ab'\nwhile True:\n    x = ValueError(x, x)"), "10,000 characters"),
    Hostile("an error of many", host("x = ValueError(*[np.zeros(9)] * 500)"), "10,000 characters"),
    Hostile("a long error", host("raise ValueError('x' * 9000 + '\\n' + 'y' * 9000)"), "more than 10,000 characters"),
    Hostile("an error of several lines", host("raise ValueError('one\\ntwo')"), "ValueError: one"),
)

"""What lockstep executes and what it refuses: names from the tables of rules and opcodes, the rest by examples.

The tests run every example: one that is in must run, one that is out must be refused with the sentence given here, and
every name of the tables is listed. So the table that ``smemviz features`` prints cannot say what is not so.
"""

from dataclasses import dataclass

from smemviz.engines.lockstep.ptx.steps import FAMILIES
from smemviz.engines.lockstep.python.functions import names
from smemviz.frontends.numba import xoroshiro

ENGINE = "is not executed in lockstep; run with engine gpu"


@dataclass(frozen=True)
class Row:
    """One feature: its group, what it is, whether lockstep executes it; ``example`` is the body of a kernel.

    ``says`` is what a refusal says, ``otherwise`` how a GPU may make requests other than those counted. A row of the
    tables of rules has no example.
    """

    group: str
    feature: str
    executed: bool
    example: str = ""
    says: str = ""
    otherwise: str = ""


_GROUPS = {
    "cuda.libdevice.": "libdevice",
    "cuda.fp16.": "half precision",
    "cuda.atomic.": "atomics",
    "cuda.": "CUDA",
    "math.": "math",
    "cmath.": "cmath",
    "numpy.": "NumPy, of numbers",
    "builtins.": "Python's functions",
}

# Arguments of the examples: out and data are 1-D arrays, table is 2-D, records have fields x and y.
_IN = (
    ("branches", "if data[0]:\n    out[0] = 1\nelif out[0] > 2:\n    out[0] = 2\nelse:\n    pass"),
    ("conditional expressions", "out[0] = 1 if data[0] > 2 else 2"),
    ("chained comparisons", "out[0] = 0 < data[0] <= 2"),
    ("'in' and 'is'", "out[0] = (1 in (1, 2)) and (None is None)"),
    ("assignment expressions, of variables, or stored at once",
     "out[0] = (k := data[0])\nif (n := k) > 1:\n    out[0] = n"),
    ("while and for, with break, continue and else",
     "for k in range(9):\n    if k == 5:\n        continue\nelse:\n    out[0] = 1\nwhile out[0] < 3:\n    out[0] += 1"),
    ("loops over arrays and tuples", "for x in data:\n    out[0] += x\nfor y in (1, 2):\n    out[1] += y"),
    ("enumerate and zip", "for i, (x, y) in enumerate(zip(data, out)):\n    out[i] = x + y"),
    ("device functions, also called with *", "out[0] = twice(data[0]) + added(1, 2, 3)"),
    ("functions and types as arguments of device functions", "out[0] = applied(twice, data[0])"),
    ("closures, globals and constant arrays", "out[0] = TABLE[2] + cuda.const.array_like(TABLE)[1]"),
    ("shared arrays, static and dynamic", "s = cuda.shared.array(32, float32)\ns[cuda.laneid] = 1"),
    ("local arrays, with alignment", "m = cuda.local.array((2, 2), float32, alignment=16)\nm[1, 1] = 1"),
    ("slices, reshape, transpose, view", "r = table[1:3].T\nout[0] = r[0, 1] + table.reshape(16)[3]"),
    ("assignment of numbers and tuples to slices", "out[2:5] = 3, 4, 5\nout[:2] = 7\nout.fill(1)"),
    ("rows from tuples, and rows unpacked", "x, y, z, w = table[0]\ntable[1] = y, x, w, z"),
    ("fields of records", "records[1].x += 1\nrecords[0]['y'] = records[1].x"),
    ("fields of arrays of records, and of complex ones", "out[0] = records.y[2]"),
    ("complex numbers", "z = complex(data[0], 1.0)\nout[0] = (z * z).imag"),
    ("half precision", "h = float16(data[0])\nout[0] = h * h"),
    ("named tuples and starred arguments", "pair = (1, 2)\nout[0] = max(*pair)"),
    ("random numbers", "out[0] = xoroshiro128p_uniform_float32(states, 0)"),
    ("grid groups", "cuda.cg.this_grid().sync()"),
    ("ranges in variables", "r = range(1, 9, 2)\nfor k in r:\n    out[k] = len(r)"),
    ("np.iinfo and np.finfo", "out[0] = np.finfo(np.float32).max"),
    ("text, compared", "mode = 'fast'\nout[0] = mode == 'fast'"),
    ("print, of numbers and text", "print('x', data[0])"),
    ("raise and assert in a kernel, as findings", "assert data[0] < 99, 'no'"),
)  # fmt: skip
_OUT = (
    ("list comprehensions and generator expressions", "x = [k for k in range(3)]",
     "a list comprehension in a kernel is not followed; Numba does not compile it for CUDA; write a loop"),
    ("lists, sets and dictionaries", "x = [1, 2]",
     "a list in a kernel is not followed; write a tuple or use cuda.local.array"),
    ("assignment expressions of computed values", "if (k := data[0]) > 1:\n    out[0] = k",
     "(k := data[0]): Numba does not compile it for CUDA; write k = ... on a line of its own"),
    ("f-strings", "print(f'{data[0]}')",
     "an f-string in a kernel is not followed; pass the parts to print one by one"),
    ("match", "match data[0]:\n    case 1:\n        out[0] = 1",
     "a match statement in a kernel is not followed; write if and elif"),
    ("functions and lambdas defined in a kernel", "out[0] = (lambda x: x + 1)(data[0])",
     "a lambda in a kernel is not followed; define a device function in the module instead"),
    ("sums and the like of an array, and NumPy's iterators", "out[0] = data.sum()",
     "data.sum() in a kernel is not followed; write a loop"),
    ("zip and enumerate but in a for", "pairs = zip(data, out)",
     "zip(data, out) in a kernel is not followed; write a loop"),
    ("with", "with data:\n    pass",
     "a with statement in a kernel is not followed; Numba does not compile it for CUDA; do it on the host"),
    ("try", "try:\n    pass\nexcept ValueError:\n    pass",
     "a try statement in a kernel is not followed; Numba does not compile it for CUDA; do it on the host"),
    ("recursion", "out[0] = endless(data[0])",
     "endless calls itself, which is not followed in Python kernels; write a loop"),
    ("raise in a device function", "out[0] = raising(data[0])", f"raise ValueError in a device function {ENGINE}"),
    ("assignment of arrays to slices", "out[2:5] = data[1:4]",
     "assignment of an array to out[2:5]: Numba does not compile it for CUDA; write a loop"),
    ("records copied whole", "records[0] = records[1]",
     "records[1]: an array or a record is copied whole; copy its parts one by one"),
    ("arithmetic with whole arrays", "x = data + 1",
     "arithmetic with an array (data + 1): Numba does not compile it for CUDA; write a loop"),
    ("methods that copy arrays or reduce one axis", "x = data.copy()",
     ".copy(...) (data.copy()): Numba does not compile it for CUDA; write a loop"),
    ("NumPy's functions that Numba does not compile for CUDA", "out[0] = np.sqrt(data[0])",
     "np.sqrt(...): Numba does not compile it for CUDA; write math.sqrt(...)"),
    ("floats of 8 bits and bfloat16", "x = cuda.bf16.bfloat16(1.0)", f"cuda.bf16.bfloat16(...) {ENGINE}"),
)  # fmt: skip
# Lanes come together again at the end of a branch, an iteration, a loop and a call. So they do in the instructions that
# ptxas 13.0 makes for compute capability 9.0, but for three cases, found by reading those of small kernels.
_TOGETHER = (
    ("loops that lanes of one warp leave after different numbers of iterations",
     "for k in range(cuda.laneid % 3):\n    out[k] += 1",
     "counted iteration by iteration; a compiler that unrolls the loop has the iterations left over run apart, "
     "together with earlier ones of other lanes"),
    ("loops left in two ways, with an access after one of them: else, or return inside the loop of a device function",
     "k = cuda.laneid\nwhile k > 0:\n    if data[k] == 3:\n        break\n    k -= 1\nelse:\n    out[0] = 1",
     "the access is counted once for all lanes of a warp; a GPU may make it for each group of lanes as it leaves"),
    ("and mixed with or", "if data[0] > 1 and data[1] > 2 or data[2] > 3:\n    out[0] = 1",
     "the last operand is counted once for all lanes that reach it; a GPU may make it for each way there"),
)  # fmt: skip


def python_rows() -> tuple[Row, ...]:
    """Return every row: what is in, names by group, what a GPU may do otherwise, and what is out."""
    inside = [Row("language", feature, True, example) for feature, example in _IN]
    outside = [Row("language", feature, False, example, says) for feature, example, says in _OUT]
    known = [
        Row(next(group for prefix, group in _GROUPS.items() if name.startswith(prefix)), name, True)
        for name in sorted({*names.VALUES, *names.CALLS})
    ]
    drawn = [Row("random numbers", f"cuda.random.{name}", True) for name in xoroshiro.DEVICE]
    together = [
        Row("lanes in step", feature, True, example, "", description) for feature, example, description in _TOGETHER
    ]
    return (*inside, *known, *drawn, *together, *outside)


_BARRIERS = ("bar", "barrier")
_BRANCHES = ("bra", "brx", "call", "exit", "ret", "trap")

# Registers of the examples: %r are b32, %l b64, %f f32, %d f64, %p predicates.
_OUT_OF_PTX = (
    ("textures", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%l1, {%r1}];", "tex.1d.v4.f32.s32"),
    ("surfaces", "suld.b.1d.b32.trap %r1, [%l1, {%r2}];", "suld.b.1d.b32.trap"),
    ("sparse products of warp groups",
     "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %l1, %l2, %r1, 0, %p1, 1, 1, 0, 0;",
     "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"),
    ("sparse products",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, "
     "{%r3, %r4}, {%f1, %f2, %f3, %f4}, %r5, 0x0;",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    ("products of float64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};",
     "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
    ("wmma of float64", "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%d1}, [%l1], %r1;",
     "wmma.load.a.sync.aligned.row.m8n8k4.f64"),
    ("tensor copies of columns of images",
     "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
     "[%r1], [%l1, {%r2, %r3, %r4}], [%r5], {%r6};",
     "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"),
    ("tensor memory of compute capability 10.0", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;",
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"),
    ("barriers under a condition", "@%p1 bar.sync 0;", "a barrier under a condition"),
    ("malloc and free in a kernel", "call (%l1), malloc, (%l2);", "malloc in a kernel"),
    ("calls through a pointer", "call (%l1), %l2, (%l3), made;", "a call through a pointer"),
    ("memory made with alloca", "alloca.u64 %l1, %l2;", "alloca"),
)  # fmt: skip


def ptx_rows() -> tuple[Row, ...]:
    """Return every row: the opcodes that are executed by what they do, and what is refused."""
    inside = [Row(f"PTX: {group}", name, True) for group, family in FAMILIES.items() for name in sorted(family)]
    inside += [Row("PTX: barriers of a block and a warp", name, True) for name in _BARRIERS]
    inside += [Row("PTX: branches and calls", name, True) for name in _BRANCHES]
    clocks = (
        "each reading is 64 later than the one before, because lockstep has no time; a loop that waits for a time runs "
        "that often"
    )
    inside.append(Row("PTX: special registers", "%clock, %clock64 and %globaltimer", True, otherwise=clocks))
    refused = {"alloca", "malloc", "free"}
    outside = [Row("PTX", name, False, example, f"{what} is not executed") for name, example, what in _OUT_OF_PTX]
    return (*(row for row in inside if row.feature not in refused), *outside)

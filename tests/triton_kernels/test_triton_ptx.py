"""PTX that Triton made, kept as it came: it needs no Triton to be run, counted and traced back to its source."""

import linecache
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from helpers.interpreted_ptx import LockstepCard
from helpers.triton_scripts import SOFTMAX, TRANSPOSE

from smemviz.engines.gpu.ptx.ptx_launch import record
from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
from smemviz.engines.triton.kernels import Passed, bound, entry_of, passed
from smemviz.engines.triton.tensors import ArrayArgument, storage_of
from smemviz.frontends.cuda.shapes import SharedPiece
from smemviz.frontends.cuda.text.lexing import Place
from smemviz.frontends.triton.python_text import PythonText, with_own_places
from smemviz.frontends.triton.shared_pieces import shared_pieces

DATA = Path(__file__).parents[1] / "data" / "triton"


def transposing(x, out):
    """Return a launch of the kernel in ``script.py``, whose PTX is at hand."""
    Path("script.py").write_text(TRANSPOSE)
    linecache.checkcache("script.py")  # of another test
    code = SimpleNamespace(co_filename="script.py", co_firstlineno=9)
    function = SimpleNamespace(fn=SimpleNamespace(__code__=code, __name__="transpose"), def_file_line_number=10)
    metadata = SimpleNamespace(name="transpose", shared=4096)
    pieces = (SharedPiece("tile_layout", 14, 0, (32, 32), "uint32"),)
    ptx = (DATA / "transpose.ptx").read_text()
    launcher = SimpleNamespace(source=SimpleNamespace(fn=function), metadata=metadata, ptx=ptx, pieces=pieces)
    signature = {"x": "*fp32", "out": "*fp32", "n": "i32", "TILE": "constexpr"}
    arguments = list(passed(signature.items(), (ArrayArgument(x), ArrayArgument(out), 64, 32)))
    entry = entry_of(launcher, "script.py", arguments)
    given = bound(arguments, 5, partial(storage_of, copies={}), tuple)
    return entry, configuration(("script.py", 19), ((2, 2), 128, 0, 4096)), given


def rows_of(made):
    """Return what each place did: its expression's beginning, its array, requests and wavefronts."""
    return {
        (site.line, site.column, site.op, site.space): (site.source[:8], site.array, row.requests, row.wavefronts)
        for site, row in zip(made.sites, made.summary(), strict=True)
    }


def test_a_transpose_is_right_and_counted_at_its_lines(tmp_path, monkeypatch):
    """Four blocks of 128 threads have 4,096 elements: 8 loads and 8 stores a thread go through shared memory."""
    monkeypatch.chdir(tmp_path)
    x, out = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
    entry, shape, given = transposing(x, out)
    place = ("script.py", 19)
    made, findings = launch(entry, shape, given, place)
    assert findings == ()
    assert (out == x.T).all()
    assert rows_of(made) == ROWS
    # As a GPU is made to count it.
    counted = record(LockstepCard(entry), entry, shape, given, place, 1 << 27)
    assert rows_of(counted) == ROWS
    assert [array.address for array in counted.arrays if array.is_shared]


ROWS = {
    (13, 11, "load", "global"): ("tl.load(", "x", 32, None),
    (14, 4, "store", "shared"): ("tl.store", "tile_layout", 128, 128),
    (14, 4, "load", "shared"): ("tl.store", "tile_layout", 128, 128),
    (14, 4, "store", "global"): ("tl.store", "out", 32, None),
}


def test_what_is_inlined_is_where_the_user_called_it_and_lines_are_not_counted_on_within_an_asm():
    ptx = (
        "\t.loc\t1 11 23\n"
        "\t.loc\t2 216 16, function_name $L__info_string0, inlined_at 1 11 23 // standard.py:216:16\n"
        "\t.loc\t2 196 12, function_name $L__info_string0, inlined_at 2 216 16 // standard.py:196:12\n"
        "\t// begin inline asm\n\t.loc\t1 13 12\n\tmov.u32 %r1, 0x0;\n\t.loc\t1 14 12\n\tld.global;\n"
        "\t// end inline asm\n"
        "\t.loc\t2 7 1\n"
    )
    text, places = with_own_places(ptx, {1}.__contains__)
    assert [line.split()[1:4] for line in text.splitlines() if ".loc" in line] == [
        *[["1", "1", "0"]] * 3,
        ["1", "2", "0"],
        ["2", "7", "1"],
    ]
    assert places == {1: (Place(11, 22), Place(13, 11))}


def test_older_compilers_say_in_a_comment_where_the_user_called_it():
    ptx = (
        "\t.loc\t1 11 22  // script.py:11:22\n"
        "\t.loc\t2 170 27  // standard.py:170:27 @[ standard.py:191:40 @[ script.py:11:29 ] ]\n"
        '\t.file\t1 "/home/user/script.py"\n\t.file\t2 "/usr/lib/triton/language/standard.py"\n'
    )
    text, places = with_own_places(ptx, {1}.__contains__)
    assert [line.split()[1:4] for line in text.splitlines() if ".loc" in line] == [["1", "1", "0"], ["1", "2", "0"]]
    assert places == {1: (Place(11, 21), Place(11, 28))}
    softmax = PythonText("", SOFTMAX, "", places[1]).access(2)  # behind the name of what is called
    assert softmax.source == "tl.max(values, axis=0)"


def test_a_place_is_the_innermost_call_that_begins_there():
    source = "def k(x):\n    y = tl.load(x + 1).to(tl.float32)\n    return y + tl.dot(y, y)\n"
    text = PythonText("", source, "", (Place(2, 8), Place(3, 11), Place(3, 15), Place(9, 0)))
    sources = [text.access(line) for line in (1, 2, 3)]
    assert [one.source for one in sources if one] == ["tl.load(x + 1)", "y + tl.dot(y, y)", "tl.dot(y, y)"]
    assert text.access(5) is None
    found = text.function(3, 15)
    assert (found.name, found.line, found.parameters) == ("k", 1, ("x",))
    softmax = PythonText("", SOFTMAX, "", (Place(13, 50),)).access(1)
    assert softmax.source == "tl.sum(numerator, axis=0)"


MODULE = """\
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [0, 1]}>
#loc = loc("script.py":10:1)
module attributes {"ttg.num-warps" = 4 : i32, ttg.shared = 24576 : i32} {
    %left_31 = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<3x64x32xf16, #shared> loc(#loc40)
    %0 = ttg.local_alloc {allocation.offset = 12288 : i32} : () -> !ttg.memdesc<3x32x64xbf16, #shared1> loc(#loc41)
    %9 = ttg.convert_layout %total_80 {allocation.offset = 0 : i32, allocation.size = 16384 : i32} : f32 loc(#loc22)
    %5 = "tt.reduce"(%8) <{axis = 0 : i32}> ({
      %6 = arith.addf %arg3, %arg4 : f32 loc(#loc50)
    }) {allocation.offset = 0 : i32, allocation.size = 16 : i32} : (tensor<1024xf32>) -> f32 loc(#loc31)
}
#loc14 = loc("script.py":16:16)
#loc22 = loc("script.py":19:5)
#loc15 = loc("/lib/triton/language/standard.py":287:12)
#loc31 = loc(callsite(#loc15 at #loc33))
#loc33 = loc("numerator"(#loc14))
#loc40 = loc("left"(#loc14))
#loc41 = loc("right"(#loc22))
"""


def test_pieces_of_shared_memory_are_read_with_their_names_lines_and_shapes():
    assert shared_pieces(MODULE, 24576, lambda file: file == "script.py") == (
        SharedPiece("left", 16, 0, (3, 64, 32), "float16"),
        SharedPiece("right", 19, 12288, (3, 64, 32), "uint16"),  # it lies there the other way round
        SharedPiece("total_layout", 19, 0, (4096,), "uint32"),
        SharedPiece("reduction", 16, 0, (4,), "uint32"),
    )
    assert shared_pieces(MODULE, 16384, lambda file: True) == ()


def test_arguments_are_passed_as_the_kernel_takes_them():
    whole = np.arange(16, dtype=np.float32)
    arguments = [
        Passed("x", "*fp32", ArrayArgument(whole[4:])),
        Passed("no", "*fp32", None),
        Passed("n", "i32", -2),
        Passed("flag", "i1", True),
        Passed("half", "fp16", 1.5),
        Passed("brain", "bf16", 1.5),
        Passed("long", "u64", 2**63),
    ]
    pointer, *others = bound(arguments, 9, partial(storage_of, copies={}), tuple)
    assert pointer.arrays[0][1] is whole
    assert pointer.data.view(np.uint64)[0] == 16
    assert others[:4] == [bytes(8), b"\xfe\xff\xff\xff", b"\x01", b"\x00\x3e"]
    assert others[4:] == [b"\xc0\x3f", bytes(7) + b"\x80", bytes(8), bytes(8)]
    nested = passed({"pair": ("*fp32", "constexpr"), "N": "constexpr", "m": "i32"}.items(), ((whole, 3), 5, 7))
    assert [(one.name, one.type) for one in nested] == [("pair[0]", "*fp32"), ("m", "i32")]

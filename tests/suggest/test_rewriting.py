"""What a layout becomes in the text of a kernel file, and why some are not written."""

import pytest
from helpers.made_kernels import tile_program, transposing

from smemviz.engines import run
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.suggest.python_rewriting import Rewriting
from smemviz.suggest.rewrites import Edit, NotRewrittenError, edited, rewritten, unified_diff

DECLARED = "held = cuda.shared.array((32, 32), float32)"
TURN = "held[ty, tx] = out[ty, tx]\ncuda.syncthreads()\nout[ty, tx] = held[tx, ty]"
NAMED = "held = cuda.shared.array((TILE, {}), float32)"


def array_of(program):
    """Return the one shared array of a program, as a run declares it."""
    (array,) = run(program, engine="lockstep").launches[0].shared_arrays
    return array


def changed(program, layout):
    """Return the lines that a layout changes or adds."""
    after = rewritten(program, (Rewriting(program, array_of(program)).rewrite(layout),)).source
    lines = unified_diff(program.source, after, program.file).splitlines()
    return [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]


def refusal(program, layout):
    """Return why a layout is not written."""
    with pytest.raises(NotRewrittenError) as refused:
        Rewriting(program, array_of(program)).rewrite(layout)
    return str(refused.value)


TAKE = "@cuda.jit(device=True)\ndef take(tile, row, column):\n    return tile[row, column]\n\n"


def test_a_pad_lengthens_the_row_or_sets_the_constant_that_is_its_pitch():
    """A constant of its own where there is none: Numba takes no sum as a size."""
    for constants, size, pad, lines in [
        ("", "32", 1, ["held = cuda.shared.array((32, 33), float32)"]),
        ("TILE = 32\nPITCH = TILE + 1\n", "TILE", 1, [NAMED.format("PITCH")]),
        ("TILE = 32  # a warp\nHELD_PITCH = 7\n", "TILE", 2, ["HELD_PITCH_2 = TILE + 2", NAMED.format("HELD_PITCH_2")]),
        ("TILE = 32\nIPAD = 0  # unused\nPITCH = TILE + IPAD\n", "PITCH", 1, ["IPAD = 1  # unused"]),
    ]:
        declared = NAMED.format(size) if constants else DECLARED
        assert changed(transposing(f"{declared}\n{TURN}", constants), Pad(32, pad)) == lines
    flat = tile_program("256", "int32", "n", "n * 5 % 256", 256)
    assert changed(flat, Pad(32, 1)) == [
        "tile = cuda.shared.array(264, np.int32)",
        "tile[n + (n >> 5)] = n",
        "out[n] = tile[(n * 5 % 256) + ((n * 5 % 256) >> 5)]",
    ]


def test_a_swizzle_mixes_the_column_with_the_row_at_every_use_and_takes_no_more_than_it_needs():
    to, of = "held[ty, tx ^ ty] = out[ty, tx]", "out[ty, tx] = held[tx, ty ^ tx]"
    for body, swizzle, before, lines in [
        (TURN.replace("held[tx, ty]", "held[ tx,ty+0 ]  # a column"), Swizzle(32, 5), "",
            [to, "out[ty, tx] = held[ tx,(ty+0) ^ tx ]  # a column"]),
        (TURN, Swizzle(32, 5), "", [to, of]),
        (TURN, Swizzle(32, 4), "", [to.replace("ty]", "(ty & 15)]", 1), of.replace("^ tx", "^ (tx & 15)")]),
        (TURN, Swizzle(32, 4, 1), "",
            [to.replace("ty]", "((ty & 15) << 1)]", 1), of.replace("^ tx", "^ ((tx & 15) << 1)")]),
        (TURN, Swizzle(32, 4, 0, 1), "", [to.replace("ty]", "(ty >> 1)]", 1), of.replace("^ tx", "^ (tx >> 1)")]),
        (TURN, Swizzle(32, 3, 2, 2), "",
            [to.replace("ty]", "((ty >> 2) << 2)]", 1), of.replace("^ tx", "^ ((tx >> 2) << 2)")]),
        ("held[3, 1] = out[0, 0]\nout[0, 0] = held[3, 1] + held[0, tx]", Swizzle(32, 5), "",
            ["held[3, 2] = out[0, 0]", "out[0, 0] = held[3, 2] + held[0, tx]"]),
        ("held[ty, tx] = 0\ncuda.atomic.add(held, (tx, ty), 1)\nout[ty, tx] = held[ty, tx]", Swizzle(32, 5), "",
            ["held[ty, tx ^ ty] = 0", "cuda.atomic.add(held, (tx, ty ^ tx), 1)", "out[ty, tx] = held[ty, tx ^ ty]"]),
        (TURN.replace("held[tx, ty]", "take(held, tx, ty)"), Swizzle(32, 5), TAKE,
            ["return tile[row, column ^ row]", to]),
    ]:  # fmt: skip
        assert changed(transposing(f"{DECLARED}\n{body}", before=before), swizzle) == lines


def test_a_constant_that_was_set_apart_from_the_file_is_set_in_the_file():
    constants = "TILE = 32\nIPAD = 1\nPITCH = TILE + IPAD\n"
    program = transposing(f"{NAMED.format('PITCH')}\n{TURN}", constants).with_constants({"IPAD": 0})
    rewrite = Rewriting(program, array_of(program)).rewrite(Pad(32, 1))
    assert (rewrite.edits, dict(rewrite.constants)) == ((), {"IPAD": 1})
    assert rewritten(program, (rewrite,)).values["PITCH"] == 33


def test_what_cannot_be_written_is_refused_by_line():
    for body, before, layout, why in [
        (
            TURN.replace("held[tx, ty]", "take(held, tx, ty) + take(held, ty, tx)"),
            TAKE,
            Swizzle(32, 5),
            "line 17: held is passed to the device function take, which is called in 2 places",
        ),
        ("other = held\n" + TURN, "", Swizzle(32, 5), "line 11: held gets another name here"),
        ("flat = held.reshape(1024)\n" + TURN, "", Pad(32, 1), "line 11: a view of held is taken here"),
        ("flat = held.reshape(1024)\n" + TURN, "", Swizzle(32, 5), "line 11: a view of held is taken here"),
        (
            TURN.replace("held[tx, ty]", "held[int32(out[0, 0]), tx]"),
            "",
            Swizzle(32, 5),
            "line 13: the index int32(out[0, 0]) would be written twice; give it a name first",
        ),
        (TURN.replace("held[tx, ty]", "held[tx][ty]"), "", Swizzle(32, 5), "line 13: tx is not an index for each axis"),
        (TURN.replace("held[tx, ty]", "held[tx, -1]"), "", Swizzle(32, 5), "line 13: the index -1 counts from the end"),
    ]:
        assert refusal(transposing(f"{DECLARED}\n{body}", before=before), layout) == why
    shape = transposing(f"held = cuda.shared.array(SHAPE, float32)\n{TURN}", "SHAPE = (32, 32)\n")
    assert refusal(shape, Pad(32, 1)) == "line 11: the sizes of held are not written out here"
    body = "held = cuda.shared.array(0, float32)\nheld[ty * 32 + tx] = 1\nout[ty, tx] = held[tx * 32 + ty]"
    dynamic = transposing(body, launch="turn[1, (32, 32), 0, 4096]")
    pitch = "line 10: held is dynamic: the launch states its size, and no constant is its pitch"
    assert refusal(dynamic, Pad(32, 1)) == pitch
    assert changed(dynamic, Swizzle(32, 5))[0] == "held[(ty * 32 + tx) ^ ((ty * 32 + tx) >> 5)] = 1"


def test_edits_are_made_from_the_end_and_the_same_one_once():
    edits = [Edit(1, 4, 1, 5, "2"), Edit(2, 4, 2, 5, "3"), Edit(1, 4, 1, 5, "2"), Edit(2, 0, 2, 0, "N = 9\n")]
    assert edited("é = 1\nB = 2", edits[1:2]) == "é = 1\nB = 3"
    assert edited("A = 1\nB = 2\n", edits) == "A = 2\nN = 9\nB = 3\n"


def test_a_difference_can_be_applied_where_the_file_has_no_last_line_end():
    assert unified_diff("A = 1", "A = 2", "k.py").splitlines()[3:] == [
        "-A = 1", r"\ No newline at end of file", "+A = 2", r"\ No newline at end of file",
    ]  # fmt: skip

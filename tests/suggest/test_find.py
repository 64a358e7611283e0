"""What is suggested for which array, and what is refused before anything is written."""

from dataclasses import replace

from helpers.made_kernels import HEAD, transposing

from smemviz import paths as resources
from smemviz.engines import run
from smemviz.frontends.reading import parse_program, read_program
from smemviz.model.hardware.hardware import H200
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.suggest.find import Refused, Suggestion, suggestions
from smemviz.suggest.python_rewriting import Rewriting
from smemviz.suggest.verify import Verifier

TURN = "held[ty, tx] = out[ty, tx]\ncuda.syncthreads()\nout[ty, tx] = held[tx, ty]"


def found(program):
    return list(suggestions(run(program, engine="lockstep"), program))


def both(program):
    """Return the two layouts that are suggested."""
    one, other = found(program)
    assert isinstance(one, Suggestion)
    assert isinstance(other, Suggestion)
    return one, other


def test_of_one_count_the_layout_of_fewer_bytes_comes_first():
    one, other = both(transposing(f"held = cuda.shared.array((32, 32), float32)\n{TURN}"))
    assert (one.layout, one.before, one.after, one.more_bytes) == (Swizzle(32, 5), 1056, 64, 0)
    assert (other.layout, other.before, other.after, other.more_bytes) == (Pad(32, 1), 1056, 64, 128)


def test_a_pad_that_static_memory_has_no_room_for_is_not_written():
    declared = "held = cuda.shared.array((384, 32), float32)"  # 48 KiB, all there is
    one, other = both(transposing(f"{declared}\n{TURN}"))
    assert (type(one.layout), one.reason, other.rewrite) == (Swizzle, None, None)
    assert other.reason == "a block would take 50,688 bytes, more than the 49,152 of static shared memory"


def test_columns_of_20_get_the_pad_that_leaves_least():
    program = read_program(resources.kernels_dir() / "rectangle.py").with_constants({"BDIMY": 20})
    one, other = suggestions(run(program, engine="lockstep"), program, "set_row_read_col")
    assert isinstance(one, Suggestion)
    assert isinstance(other, Suggestion)
    assert (one.layout, one.before, one.after, one.more_bytes) == (Swizzle(32, 4, 1), 404, 56, 0)
    assert (other.layout, other.before, other.after, other.more_bytes) == (Pad(32, 2), 404, 56, 160)


def test_an_index_made_in_a_device_function_is_no_data():
    turn = """@cuda.jit(device=True)
def turned(n):
    return n % 20, n // 20

@cuda.jit(device=True)
def take(tile, n):
    row, column = turned(n)
    return tile[row, column]

"""
    program = transposing(
        """held = cuda.shared.array((20, 32), float32)
n = ty * 32 + tx
if n < 640:
    held[n // 32, n % 32] = n
cuda.syncthreads()
if n < 640:
    out[ty, tx] = take(held, n)""",
        before=turn,
    )
    one, other = found(program)
    assert isinstance(one, Suggestion)
    assert isinstance(other, Suggestion)
    assert {one.layout, other.layout} == {Swizzle(32, 4, 1), Pad(32, 2)}


def test_data_that_collides_and_lanes_that_update_one_element_get_no_layout():
    picked = f"""{HEAD}
@cuda.jit
def pick(out, which):
    held = cuda.shared.array(1024, int32)
    t = cuda.threadIdx.x
    held[which[t]] = t
    out[t] = 0


def main():
    which = np.random.default_rng(0).permutation(1024)[:64].astype(np.int32)
    pick[1, 64](cuda.to_device(np.zeros(64, np.int32)), cuda.to_device(which))
"""
    body = "held = cuda.shared.array((32, 32), int32)\nheld[ty, tx] = 0\ncuda.atomic.add(held, (ty, 0), tx)"
    for program, reason in [
        (parse_program(picked, "made.py"), "data decides which words collide, so no pad or swizzle is sure to help"),
        (transposing(body), "lanes that update the same element collide wherever it lies"),
    ]:
        (one,) = found(program)
        assert isinstance(one, Refused)
        assert one.reason == reason


def test_all_launches_of_a_kernel_are_promised_together():
    program = transposing(f"held = cuda.shared.array((32, 32), float32)\n{TURN}")
    twice = program.source.replace(
        "    turn[1", "    turn[2, (32, 32)](cuda.to_device(np.zeros((32, 32), np.float32)))\n    turn[1"
    )
    one, _ = found(parse_program(twice, "made.py"))
    assert isinstance(one, Suggestion)
    assert [(promise.launch, promise.after.wavefronts) for promise in one.promises] == [
        (0, 64),
        (0, 64),
        (1, 32),
        (1, 32),
    ]


def test_a_promise_that_is_not_kept_is_said():
    for wrong, problem in [
        # a swizzle written at one of two places: the array that is loaded is another than the one stored
        ("stored", "turn leaves different results in its arrays"),
        # a pad of 2 where 1 was promised
        ("pad", "turn, line 13: held[tx, ty] takes 64 wavefronts; 32 were promised"),
    ]:
        program = transposing(
            "held = cuda.shared.array((32, 32), float32)\n" + TURN.replace("= out[ty, tx]", "= ty * 32 + tx")
        )
        recording = run(program, engine="lockstep")
        one, other = found(program)
        assert isinstance(one, Suggestion)
        assert isinstance(other, Suggestion)
        assert one.rewrite is not None
        if wrong == "stored":
            bad = replace(one, rewrite=replace(one.rewrite, edits=one.rewrite.edits[:1]))
        else:
            two = Rewriting(program, recording.launches[0].shared_arrays[0]).rewrite(Pad(32, 2))
            bad = replace(other, rewrite=two)
        assert Verifier(program, recording, "lockstep", (), H200).check([bad]).problem == problem


def test_a_file_that_differs_by_itself_is_told_from_one_that_a_suggestion_changed():
    steady = transposing("held = cuda.shared.array((32, 32), float32)\n" + TURN)
    unseeded = parse_program(steady.source.replace("np.zeros((32, 32), np.float32)", "np.random.rand(32, 32)"), "a.py")
    assert unseeded.source != steady.source
    recording = run(unseeded, engine="lockstep")
    one, _ = found(unseeded)
    assert isinstance(one, Suggestion)
    check = Verifier(unseeded, recording, "lockstep", (), H200).check([one])
    assert (check.problem, sum(check.counted)) == (None, 64)
    assert check.notes == (
        "turn leaves different results each time the file runs as it is, so that was not compared; seed its random "
        "numbers",
    )

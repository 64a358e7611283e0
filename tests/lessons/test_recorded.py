"""What lessons look at: which recordings, which request, and the bars that compare."""

from itertools import islice, product

import pytest
from helpers.lesson_answers import stage_of

import smemviz
from smemviz.figures.lessons import Bar, lesson_bars, lesson_scene
from smemviz.lessons.course import LESSONS
from smemviz.lessons.scenes import recorded, recorded_access
from smemviz.paths import kernels_dir


def test_the_recording_of_the_gpu_is_taken_where_it_has_the_constants_else_lockstep_runs_what_is_looked_at():
    known = recorded("square", {"IPAD": 1})
    assert known.engine == "gpu"
    assert known is recorded("square", {"IPAD": 1})
    ran = recorded("square", {"IPAD": 2}, ("set_row_read_col_pad",))
    assert (ran.engine, ran.constants["PITCH"]) == ("lockstep", 34)
    assert [launch.kernel for launch in ran.launches] == ["set_row_read_col_pad"]


def test_what_is_looked_at_is_the_first_request_of_a_site():
    access = recorded_access(recorded("square", {"IPAD": 1}), "set_row_read_col_pad", "load", "shared")
    site = access.launch.sites[access.site]
    assert (site.source, site.line) == ("tile[tx, ty]", 80)
    assert access.launch.requests.warp[access.row] == 0
    assert smemviz.wavefronts(access.addresses, site.width) == 1
    assert (access.addresses[1] - access.addresses[0]) // 4 == 33


def test_every_file_that_lessons_name_is_in_the_gallery():
    for file in ("square", "rectangle", "transpose", "matmul", "stencil", "reverse", "reduce", "latency"):
        assert (kernels_dir() / f"{file}.py").is_file()


def test_the_bar_that_answers_is_told_from_the_others_without_its_colour():
    figure = lesson_bars([Bar("0", 256), Bar("2", 16, answers=True)], "pad", "wavefronts", "Text.")
    (bars,) = figure.data
    assert list(bars.y) == [256, 16]
    assert list(bars.text) == ["256", "<b>16</b>"]
    assert list(bars.marker.line.width) == [1, 2.5]
    assert list(figure.layout.xaxis.ticktext) == ["0", "2"]
    assert figure.layout.meta["says"] == "Text."


def test_the_title_of_few_rows_stands_above_them_where_it_has_room():
    few = lesson_scene((2, 32), {(0, 0): "0"}, ("lane", "element that it stores"), "Text.")
    assert [note.text for note in few.layout.annotations] == ["↓ element that it stores"]
    assert few.layout.yaxis.title.text == ""
    many = lesson_scene((32, 32), {(0, 0): "0"}, ("column", "row"), "Text.")
    assert many.layout.annotations == ()
    assert many.layout.yaxis.title.text == "row"


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_the_marks_of_a_question_are_of_10_pixels_wherever_the_knobs_stand(step):
    for lesson in LESSONS:
        names = [knob.name for knob in lesson.knobs]
        for options in islice(product(*(knob.options for knob in lesson.knobs)), 0, None, step):
            stage = lesson.stage(lesson.values(dict(zip(names, options, strict=True))))
            texts = [trace for trace in stage.before("light").figure.data if trace.type == "scatter" and len(trace.x)]
            assert all(trace.textfont.size >= 10 for trace in texts if trace.mode == "text"), options


def test_an_array_of_one_axis_is_drawn_in_rows_that_their_first_elements_number():
    stage = stage_of("reduction", KERNEL="neighbours_by_close_threads", ROUND="2")
    cells, lanes, _ = stage.before("light").figure.data
    assert cells.z.shape == (16, 16)
    assert list(cells.y[:3]) == [0, 16, 32]
    placed = list(zip(lanes.y[:3], lanes.x[:3], lanes.text[:3], strict=True))
    assert placed == [(0, 0, "L0"), (0, 8, "L1"), (16, 0, "L2")]


def test_the_tiles_of_a_tensor_copy_and_of_triton_lie_as_the_lessons_say():
    plain, swizzled = (
        stage_of("tensor-copies", ROW="5", KERNEL=name).because for name in ("turn_plain", "turn_swizzled")
    )
    assert plain.endswith("The request takes 32 wavefronts where 4 would do.")
    assert swizzled.startswith("2 ^ 5 is 7: bank 28.")
    assert swizzled.endswith("The request takes 4 wavefronts, as few as possible.")
    stage = stage_of("triton", ROW="5")
    assert "4 wavefronts, as few as possible. Without the swizzle they would take 16." in stage.because
    assert stage.origin == "Counted from a lockstep run of matmul.py with these constants."

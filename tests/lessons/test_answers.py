"""The answers of the lessons: those that are known of the H200, and all of them counted a second time by hand."""

import re
from collections import defaultdict
from math import gcd
from urllib.parse import parse_qsl

import pytest
from helpers.lesson_answers import combinations, stage_of
from helpers.reading import written
from helpers.tiers import but

import smemviz
from smemviz.figures.drawing.cells import LANES
from smemviz.lessons.course import LESSONS, lesson_of
from smemviz.lessons.lesson import lanes_of, read_answer
from smemviz.model.layout.accesses import Access, requests
from smemviz.model.layout.layouts import Layout
from smemviz.paths import kernels_dir


def answer(slug, **knobs):
    (right,) = stage_of(slug, **knobs).right
    return right


# What is known. The rules are those measured on an H200 (banks of 4 bytes, 32 of them; 8 and 16 bytes a lane are
# served 16 and 8 lanes at a time), the counts those of Nsight Compute in the gallery's recordings.


def test_what_is_known_is_answered():
    for slug, knobs, right in [
        ("why", {}, "7"),  # the threads at most 3 away, and the one in the middle
        ("why", {"RADIUS": "1"}, "3"),
        ("lanes", {}, "21"),  # (3 x 16 + 5) % 32
        ("lanes", {"BDIMX": "32"}, "5"),
        ("barrier", {}, "58"),  # 64 - 1 - 5
        ("race", {}, "26-31"),  # lane + 6 > 31
        ("swizzle", {}, "3"),  # 5 ^ 6
        ("reduction", {}, "8"),  # 32 lanes 8 words apart: 4 banks
        ("reduction", {"ROUND": "4"}, "8"),  # 8 lanes left, 32 words apart
        ("reduction", {"KERNEL": "halves"}, "1"),
        ("triton", {}, "24"),  # row 5 begins at word 80, and piece 0 is at place 2
        ("tensor-copies", {}, "28"),  # 2 ^ 5 = 7, of 4 words each
        ("tensor-copies", {"KERNEL": "turn_plain"}, "8"),
        ("occupancy", {}, "6"),  # 228 KiB / 33 KiB
        ("occupancy", {"KIB": "100"}, "2"),
        ("occupancy", {"KIB": "8", "THREADS": "128"}, "16"),  # 2,048 / 128
        ("reuse", {}, "8"),  # all warps of 256 threads load row 0 of b_tile
        ("reuse", {"TILE": "32"}, "32"),
        ("reuse", {"ARRAY": "a_tile"}, "1"),  # ty = 0 is in warp 0 alone
        ("matter", {}, "20"),  # 1.271 us and 0.864 us in the recording of square.py
        ("matter", {"FILE": "transpose"}, "20"),  # 1.870 us and 1.419 us
        ("matter", {"FILE": "rectangle"}, "5"),  # 0.899 us and 0.801 us
        ("matter", {"FILE": "reduce"}, "0"),  # 1.407 us and 1.351 us
        ("banks", {}, "13"),  # (2 x 20 + 5) % 32
        ("banks", {"ROW": "3", "COLUMNS": "33"}, "8"),  # (3 x 33 + 5) % 32
        ("rows", {}, "1"),
        ("rows", {"WIDTH": "8"}, "2"),
        ("rows", {"WIDTH": "16"}, "4"),
        ("columns", {}, "32"),
        ("columns", {"COLUMNS": "12"}, "4"),
        ("words", {}, "16-19"),
        ("words", {"SHARE": "32"}, "none"),
        ("words", {"SHARE": "1", "COLUMNS": "32"}, "0-2, 4-31"),
        ("padding", {}, "1"),  # square.py, set_row_read_col_pad: 32 wavefronts for 32 requests
        ("padding", {"IPAD": "0"}, "32"),  # set_row_read_col: 1,024 wavefronts for 32 requests
        ("padding", {"IPAD": "8"}, "8"),
        ("rectangles", {}, "2"),  # rectangle.py has IPAD = 2: 16 wavefronts for 16 requests
        ("rectangles", {"BDIMY": "32"}, "1"),
        ("by-hand", {}, "column"),
        ("sectors", {}, "32"),  # transpose.py, load_columns_store_rows: 6,144 sectors for 192 requests
        ("sectors", {"KERNEL": "copy"}, "4"),  # copy: 768 sectors for 192 requests
        ("tiles", {"TILE": "32"}, "32"),  # 2 S^3 / (2 S^3 / T)
        ("compiler", {}, "2048"),  # LDS.128: 8,192 loads of the source became 2,048
        ("compiler", {"LOAD": "b_tile[k, tx]"}, "8192"),
    ]:
        assert answer(slug, **knobs) == right


# Counted again, without the model


def wavefronts(words):
    """Count the wavefronts of 4-byte lanes: the most different words in one bank."""
    by_bank = defaultdict(set)
    for word in words:
        by_bank[word % 32].add(word)
    return max(map(len, by_bank.values()))


def colliding(share, columns):
    """Return the lanes that want another word of the bank that lane 3 asks."""
    word = [lane // share * columns for lane in range(32)]
    return [lane for lane in range(32) if word[lane] != word[3] and word[lane] % 32 == word[3] % 32]


def sectors(tile, kernel):
    """Count the sectors that the first warp of a block loads of a matrix of 64 x 96 floats."""
    threads = [(thread % tile, thread // tile) for thread in range(32)]  # x, y
    return len({((y * 96 + x) if kernel == "copy" else (x * 96 + y)) * 4 // 32 for x, y in threads})


def reduced(kernel, step):
    """Count the wavefronts of warp 0 in a round of a sum of 256 words."""
    if kernel == "neighbours_by_close_threads":
        return wavefronts([2 * step * t for t in range(32) if 2 * step * t < 256])
    return wavefronts([t for t in range(32) if t < 128 // step])


AGAIN = {
    "banks": lambda knobs: (int(knobs["ROW"]) * int(knobs["COLUMNS"]) + 5) % 32,
    "columns": lambda knobs: wavefronts([lane * int(knobs["COLUMNS"]) for lane in range(32)]),
    "words": lambda knobs: colliding(int(knobs["SHARE"]), int(knobs["COLUMNS"])),
    "padding": lambda knobs: wavefronts([lane * (32 + int(knobs["IPAD"])) for lane in range(32)]),
    "sectors": lambda knobs: sectors(int(knobs["TILE"]), knobs["KERNEL"]),
    "why": lambda knobs: sum(abs(i - 12) <= int(knobs["RADIUS"]) for i in range(128)),
    "race": lambda knobs: [lane for lane in range(32) if lane + 2 * int(knobs["RADIUS"]) >= 32],
    "lanes": lambda knobs: (int(knobs["Y"]) * int(knobs["BDIMX"]) + 5) % 32,
    "barrier": lambda knobs: 63 - int(knobs["THREAD"]),
    "swizzle": lambda knobs: (6 * 32 + (int(knobs["WARP"]) ^ 6)) % 32,
    "triton": lambda knobs: (16 * int(knobs["ROW"]) + 4 * (int(knobs["ROW"]) // 2 % 4)) % 32,
    "tensor-copies": lambda knobs: 4 * (2 ^ int(knobs["ROW"]) * (knobs["KERNEL"] == "turn_swizzled")),
    "reduction": lambda knobs: reduced(knobs["KERNEL"], 2 ** int(knobs["ROUND"])),
}


@pytest.mark.parametrize(("slug", "knobs"), [(slug, one) for slug in AGAIN for one in combinations(lesson_of(slug))])
def test_an_answer_is_what_counting_gives(slug, knobs):
    counted, right = AGAIN[slug](knobs), answer(slug, **knobs)
    assert (lanes_of(right) if isinstance(counted, list) else int(right)) == counted


def test_a_column_takes_as_many_wavefronts_as_row_length_and_banks_have_in_common():
    for columns in [8, 12, 16, 24, 32, 64]:
        assert int(answer("columns", COLUMNS=str(columns))) == gcd(columns, 32)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rows", [4, 8, 16, 32])
def test_the_smallest_pad_is_the_first_whose_run_has_no_excess(rows):
    smallest = int(answer("rectangles", BDIMY=str(rows)))
    for pad in range(smallest + 1):
        ran = smemviz.run(
            kernels_dir() / "rectangle.py",
            {"BDIMY": rows, "IPAD": pad},
            engine="lockstep",
            kernels="set_row_read_col_pad",
        )
        rows_of_sites = zip(ran.launches[0].sites, ran.launches[0].summary(), strict=True)
        excess = sum(row.excess or 0 for site, row in rows_of_sites if (site.op, site.space) == ("load", "shared"))
        assert (excess == 0) == (pad == smallest)


def test_as_many_blocks_fit_as_share_memory_and_threads():
    for knobs in combinations(lesson_of("occupancy")):
        right = min(228 // (int(knobs["KIB"]) + 1), 2048 // int(knobs["THREADS"]))
        assert int(answer("occupancy", **knobs)) == right
        share = right * int(knobs["THREADS"]) / 2048
        assert f"an occupancy of {100 * share:.0f} %." in stage_of("occupancy", **knobs).because


def test_the_excess_in_cycles_says_how_much_time_a_conflict_can_cost():
    """What a reader can work out from the question leads to the range that was measured."""
    for file in ["square", "transpose", "rectangle", "reduce"]:
        stage = stage_of("matter", FILE=file)
        time, excess, mhz = re.findall(
            r"took ([\d.]+) µs.* ([\d,]+) excess wavefronts.* at ([\d,]+) MHz", stage.question.text
        )[0]
        most = 100 * int(excess.replace(",", "")) / int(mhz.replace(",", "")) / float(time)
        assert {str(max(limit for limit in (0, 5, 20, 50) if most >= limit))} == stage.right


@pytest.mark.exhaustive
def test_a_tiled_product_without_its_second_barrier_races(tmp_path):
    source = (kernels_dir() / "matmul.py").read_text("utf-8")
    loop = source[source.index("def tiled(c, a, b):") :]
    (tmp_path / "matmul.py").write_text(
        source.replace(
            loop, loop.replace("            k += 1\n        cuda.syncthreads()\n", "            k += 1\n", 1)
        )
    )
    recording = smemviz.run(tmp_path / "matmul.py", engine="lockstep", kernels=["tiled"])
    assert {finding.kind for finding in recording.findings} == {"race"}
    assert "b_tile" in " ".join(finding.message for finding in recording.findings)


@pytest.mark.exhaustive
@pytest.mark.parametrize("tile", [8, 16, 32])
def test_a_tile_saves_as_many_times_as_it_is_wide(tile):
    assert int(answer("tiles", TILE=str(tile))) == tile


def test_no_question_says_what_is_right():
    for lesson in [lesson_of(slug) for slug in ("race", "words", "by-hand", "compiler", "matter")]:
        for knobs in combinations(lesson):
            stage = stage_of(lesson.slug, **knobs)
            told = " ".join([stage.question.text, lesson.set_to(knobs)]).replace("\N{NO-BREAK SPACE}", " ")
            if stage.question.kind != "number":
                assert stage.answer not in told
            else:  # where nothing is merged the counts are the same
                assert (stage.answer in told) == (knobs["LOAD"] == "b_tile[k, tx]")


def test_what_a_sector_s_count_takes_is_in_the_question():
    for knobs in combinations(lesson_of("sectors")):
        said = stage_of("sectors", **knobs).question.text
        assert f"{knobs['TILE']} x {knobs['TILE']} threads" in said
        assert "A warp loads matrix[" in said  # stores send only the bytes that are written
        assert f"4 bytes per lane, from rows of {96 * 4} bytes" in said


@pytest.mark.parametrize(
    "lesson", but([lesson_of("tiles"), lesson_of("reuse")], LESSONS), ids=lambda lesson: lesson.slug
)
def test_every_knob_has_an_answer_and_the_default_is_not_the_only_one(lesson):
    stages = [stage_of(lesson.slug, **knobs) for knobs in combinations(lesson)]
    answers = {one for stage in stages for one in stage.right}
    # What changes with the knobs of padding by hand is the words that the indices give, not which of them is right.
    assert len(answers) > 1 or lesson.slug == "by-hand"
    for stage in stages:
        (right,) = stage.right
        assert read_answer(stage.question, right) == right
        assert stage.question.text
        assert stage.because


def test_every_scene_is_one_that_the_knobs_offer():
    for lesson in LESSONS:
        assert lesson.scenes[0] == {}
        assert all(lesson.turned(scene) == lesson.values(scene) for scene in lesson.scenes)


# Why it is right


def test_what_is_right_is_explained():
    for slug, knobs, said in [
        ("banks", {}, "tile[2, 5] is word 45, and 45 = 1 x 32 + 13: bank 13."),
        (
            "rows",
            {"WIDTH": "8"},
            "32 lanes of 8 bytes are 256 bytes, at 128 per wavefront: 2 wavefronts, as few as possible.",
        ),
        ("columns", {"COLUMNS": "8"}, "All 32 words lie in 4 banks, 8 in each of them. 8 wavefronts where 1 would do."),
        ("sectors", {"TILE": "8"}, "8 sectors, 256 bytes, are moved for 128 bytes where 4 sectors would do."),
        (
            "tiles",
            {},
            "524,288 elements without tiles, 32,768 with them: each is loaded once for 16 threads. Sectors fall by a "
            "factor of 8 only, because lanes of one warp that read the same sector already shared it.",
        ),
        ("compiler", {}, "2,048 instructions for 8,192 loads of the source: the compiler made one load of 4."),
    ]:
        assert stage_of(slug, **knobs).because.replace("\N{NO-BREAK SPACE}", " ") == said


# What the pictures show


def test_the_answer_of_the_first_lesson_stands_in_its_cell_with_the_lane_above():
    as_indexed, by_bank = stage_of("banks").panels("light")
    for panel, value in ((as_indexed, "13"), (by_bank, "45")):  # the bank, and the word
        texts = {text: (x, round(y)) for (x, y), text in written(panel.figure).items()}
        assert set(texts) == {"L0", value}
        assert texts["L0"] == texts[value]


def test_lanes_are_large_enough_to_be_read():
    for slug in ["banks", "rows", "columns", "words"]:
        for panel in stage_of(slug).panels("light"):
            sizes = [trace.textfont.size for trace in panel.figure.data if trace.meta == LANES]
            assert min(sizes, default=9) >= 9  # or cells are framed


# What is said before the question


def text_of(slug):
    return " ".join(said.message for said in lesson_of(slug).text)


def test_words_are_defined_before_they_are_used():
    definitions = {
        "warp": "warps of 32",
        "lane": "The number of a thread in its warp, 0 to 31, is its lane",
        "wavefront": "One pass through the banks is a wavefront",
        "bank conflict": "that is a bank conflict",
        "coalesced": "An access is coalesced when",
    }
    for word, definition in definitions.items():
        users = [one.slug for one in LESSONS if re.search(rf"\b{word}", f"{text_of(one.slug)} {asked(one)}")]
        assert definition in text_of(users[0]), word


def asked(lesson):
    return stage_of(lesson.slug).question.text


def test_every_lesson_has_a_goal_minutes_and_a_picture_before_its_answer():
    for lesson in LESSONS:
        assert re.fullmatch(r"[A-Z][^.!?]*\.", lesson.goal)
        stage = stage_of(lesson.slug)
        words = " ".join([text_of(lesson.slug), stage.question.text, stage.because]).split()
        # Three for the first question, one for each further setting, and the words at a hundred a minute.
        assert 3 + len(lesson.scenes) - 1 + len(words) / 100 <= lesson.minutes <= 10
        assert stage.answer not in lesson.goal
        before, *after = [stage.before("light"), *stage.panels("light")]
        assert before.figure != after[0].figure
        # What is asked is drawn without the costs: no badge of a conflict.
        assert not any(meta in str(trace.text) for trace in before.figure.data for meta in ("wavefront", "sector", "▲"))


def test_what_a_class_answers_wrong_is_wrong_and_each_has_its_hint():
    for lesson in LESSONS:
        stage = stage_of(lesson.slug)
        read = [read_answer(stage.question, given) for given in lesson.wrong]
        assert len(set(read)) == len(read) >= 3
        assert not stage.right.intersection(read)
        assert len({stage.hint(given) for given in read}) >= 2


def test_a_lesson_goes_on_at_a_kernel_of_the_gallery():
    for lesson in LESSONS:
        place = dict(parse_qsl(lesson.kernel))
        cpp = place["file"].endswith(".cu")
        path = kernels_dir() / "hopper" / place["file"] if cpp else kernels_dir() / f"{place['file']}.py"
        assert f"{'' if cpp else 'def '}{place['kernel']}(" in path.read_text("utf-8")


def test_what_a_pad_costs_is_said_and_true():
    said = text_of("padding")
    assert "less occupancy" in said
    assert "not aligned for accesses of 8 or 16 bytes" in said
    for width in (8, 16):  # row 1 begins after 33 words
        addresses = requests(Access("row", width=width), Layout((32, 32), "float32", pad=1))
        assert (addresses % width).any()


def test_rows_matter_and_stores_broadcast_nothing():
    assert "do not matter" not in text_of("banks")
    assert "When they store to it, one of their values is kept, and which one is undefined" in text_of("words")
    assert "When they load it, the bank delivers it once and broadcasts it." in text_of("words")


def test_a_knob_that_changes_nothing_is_written_out():
    for slug, knobs, code in [
        ("padding", {"IPAD": "0"}, "declared as tile[32, 32], without a pad"),
        ("words", {"SHARE": "1"}, "tile[i, 0]"),
    ]:
        question = stage_of(slug, **knobs).question.text.replace("\N{NO-BREAK SPACE}", " ")
        assert code in question
        assert "// 1," not in question

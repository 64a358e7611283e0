"""Layouts written into CUDA C++: the text that comes out, what is refused, and that it keeps its promise when run."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.kernel.suggest_panel import view_suggest
from smemviz.app.tasks.suggester import Suggester, command
from smemviz.frontends.cuda import parse_cuda
from smemviz.model.hardware.hardware import H200
from smemviz.model.layout.candidates import Pad, Swizzle
from smemviz.paths import kernels_dir
from smemviz.recordings.data import ArrayInfo
from smemviz.suggest.answering import answer
from smemviz.suggest.cuda_rewriting import CudaRewriting
from smemviz.suggest.rewrites import NotRewrittenError, rewritten

ROWS = """\
{constants}__global__ void k(float *out) {{
    __shared__ {type} t{sizes};
    int x = threadIdx.x, y = threadIdx.y;
{body}
}}
"""


def program_of(sizes, body, constants="", kind="float", more=""):
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return parse_cuda(ROWS.format(constants=constants, type=kind, sizes=sizes, body=indented) + more, "k.cu")


def array_of(program, *shape):
    line = next(n for n, text in enumerate(program.source.splitlines(), 1) if "__shared__" in text)
    strides = tuple(4 * int(step) for step in ([*shape[1:], 1] if len(shape) == 2 else [1]))
    return ArrayInfo("t", "shared", shape, strides, "float32", 0, line)


def changed(program, shape, layout):
    rewrite = CudaRewriting(program, array_of(program, *shape)).rewrite(layout)
    new = rewritten(program, (rewrite,)).source.splitlines()
    return [line.strip() for line in new if line not in program.source.splitlines()]


TURN = "t[y][x] = out[y * 32 + x];\n__syncthreads();\nout[y * 32 + x] = t[x][y];"


def test_a_row_is_made_longer_where_its_length_is_written():
    for constants, sizes, line in [
        ("", "[32][32]", "__shared__ float t[32][33];"),
        ("#define TILE 32\n", "[TILE][TILE]", "__shared__ float t[TILE][TILE + 1];"),
        ("constexpr int TILE = 32;\n", "[TILE][TILE]", "__shared__ float t[TILE][TILE + 1];"),
        ("#define TILE 32\n#define PITCH (TILE + 1)\n", "[TILE][TILE]", "__shared__ float t[TILE][PITCH];"),
        ("#define TILE 32\n", "[TILE][TILE + 0]", "__shared__ float t[TILE][TILE + 1];"),
        ("#define LOG 5\n", "[32][1 << LOG]", "__shared__ float t[32][(1 << LOG) + 1];"),
        ("template <int N> ", "[N][N]", "__shared__ float t[N][N + 1];"),
        ("#define W 32\n#define IPAD 0\n#define PITCH (W + IPAD)\n", "[W][PITCH]", "#define IPAD 1"),
        ("#define IPAD 0\nconstexpr int W = 32, PITCH = W + IPAD;\n", "[W][PITCH]", "#define IPAD 1"),
    ]:
        assert changed(program_of(sizes, TURN, constants), (32, 32), Pad(32, 1)) == [line]


def test_a_constant_that_is_not_only_the_pad_stays():
    constants = "#define IPAD 0\n#define PITCH (32 + IPAD)\n#define MORE (IPAD * 2)\n"
    lines = changed(program_of("[32][PITCH]", TURN, constants), (32, 32), Pad(32, 1))
    assert lines == ["__shared__ float t[32][PITCH + 1];"]


FLAT = "t[y * {w} + x] = out[x];\n__syncthreads();\nout[x] = t[x * {w} + y];"


def test_a_pitch_in_indices_written_by_hand_is_changed():
    for constants, size, pitch, lines in [
        ("", "[1024]", "32", ["t[1056]", "t[y * 33 + x]", "t[x * 33 + y]"]),
        ("", "[32 * 32]", "32", ["t[32 * 33]", "t[y * 33 + x]", "t[x * 33 + y]"]),
        ("#define W 32\n", "[W * W]", "W", ["t[W * (W + 1)]", "t[y * (W + 1) + x]", "t[x * (W + 1) + y]"]),
        ("#define W 32\n", "[W * W]", "(W)", ["t[W * (W + 1)]", "t[y * ((W) + 1) + x]", "t[x * ((W) + 1) + y]"]),
        ("#define W 32\n#define P (W + 1)\n", "[W * W]", "W", ["t[W * P]", "t[y * P + x]", "t[x * P + y]"]),
    ]:
        found = changed(program_of(size, FLAT.format(w=pitch), constants), (1024,), Pad(32, 1))
        assert [line.removeprefix("__shared__ float ").removesuffix(";") for line in found] == [
            lines[0],
            f"{lines[1]} = out[x]",
            f"out[x] = {lines[2]}",
        ]


def test_an_index_without_a_pitch_is_spread_out_where_it_stands():
    program = program_of("[256]", "t[x] = x;\n__syncthreads();\nout[x] = t[x * 5 % 256];")
    assert changed(program, (256,), Pad(32, 1)) == [
        "__shared__ float t[264];",
        "t[x + (x >> 5)] = x;",
        "out[x] = t[(x * 5 % 256) + ((x * 5 % 256) >> 5)];",
    ]


def test_a_swizzle_mixes_the_column_with_the_row_at_every_use():
    for swizzle, index in [
        (Swizzle(32, 5), "x ^ y"),
        (Swizzle(32, 4, 1), "x ^ ((y & 15) << 1)"),
        (Swizzle(32, 4, 0, 1), "x ^ (y >> 1)"),
    ]:
        body = "t[y][x] = 1;\natomicAdd(&t[y][x], 2);\nout[0] = t[0][x] + t[3][1] + t[x ? 1 : y][x + 1];  // t[y][x]"
        first, second, third = changed(program_of("[32][32]", body), (32, 32), swizzle)
        assert (first, second) == (f"t[y][{index}] = 1;", f"atomicAdd(&t[y][{index}], 2);")
        other = index.replace("y", "(x ? 1 : y)").replace("x ^", "(x + 1) ^")
        number = 1 ^ (3 >> swizzle.shift) % (1 << swizzle.bits) << swizzle.base
        assert third == f"out[0] = t[0][x] + t[3][{number}] + t[x ? 1 : y][{other}];  // t[y][x]"


def test_a_swizzle_of_the_whole_array_makes_one_dimension_of_it():
    place = "x * 4 + (y + 1)"
    program = program_of("[TILE][4]", "t[y][x] = 1;\nout[0] = t[x][y + 1];", "#define TILE 64\n")
    assert changed(program, (64, 4), Swizzle(32, 2)) == [
        "__shared__ float t[TILE * 4];",
        "t[(y * 4 + x) ^ (((y * 4 + x) >> 5) & 3)] = 1;",
        f"out[0] = t[({place}) ^ ((({place}) >> 5) & 3)];",
    ]


WHOLE = Swizzle(32, 2)  # of an array of 64 rows of 4: its index takes the row twice


def test_what_cannot_be_written_is_refused_by_line():
    for shape, body, layout, why in [
        ((32, 32), "float *p = t[y];\nt[y][x] = 1;", Swizzle(32, 5), "line 4: a row of t is taken here"),
        ((32, 32), "float *p = &t[y][x];", Swizzle(32, 5), "line 4: a pointer to t is taken here"),
        ((32, 32), "float *p = &t[0][0];", Pad(32, 1), "line 4: a pointer to t is taken here"),
        ((32, 32), "float *p = (float *)t;", Pad(32, 1), "line 4: t is used here as a whole"),
        ((32, 32), "auto p = t;", Pad(32, 1), "line 4: t gets another name here"),
        ((32, 32), "fill(t, 3);", Pad(32, 1), "line 4: t is passed to fill here"),
        ((32, 32), "AT(y, x) = 1;\n#define AT(r, c) t[r][c]", Swizzle(32, 5), "line 5: the macro here names t"),
        ((64, 4), "t[f(y)][x] = 1;", WHOLE, "line 4: the index f(y) would be written twice; give it a name first"),
        ((64, 4), "t[y++][x] = 1;", WHOLE, "line 4: the index y++ would be written twice; give it a name first"),
    ]:
        program = program_of("".join(f"[{size}]" for size in shape), body)
        with pytest.raises(NotRewrittenError) as refused:
            CudaRewriting(program, array_of(program, *shape)).rewrite(layout)
        assert refused.value.message == why


def answered(folder, text, view="source"):
    path = folder / "k.cu"
    path.write_text(text)
    program = parse_cuda(text, path.as_posix()).in_view(view)
    return answer(smemviz.run(path, view=view), program, None, "lockstep", H200)


def test_a_file_is_rewritten_run_and_counted(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    shutil.copy(kernels_dir() / "transpose.cu", "transpose.cu")
    before = Path("transpose.cu").read_text()
    facts = command("suggest", "transpose.cu:tile", "--json").json
    said = [(one["wavefronts"], one["predicted"], one["verified"]["lockstep"]) for one in facts["suggestions"]]
    assert said == [(6336, 384, {"wavefronts": 384, "problem": None, "notes": []})] * 2
    assert "+    __shared__ float held[TILE][PITCH];" in facts["suggestions"][1]["diff"].splitlines()
    command("suggest", "transpose.cu", "-o", "better.patch")
    assert Path("transpose.cu").read_text() == before
    subprocess.run(["git", "apply", "better.patch"], check=True)
    out = command("suggest", "transpose.cu").out
    assert out == "transpose.cu: no shared array has excess; there is nothing to change\n"


def test_rows_of_vectors_are_padded_by_whole_vectors(tmp_path):
    text = (
        "__global__ void k(float4 *out) {\n    __shared__ float4 t[32][8];\n    int i = threadIdx.x;\n"
        "    for (int c = 0; c < 8; c++) t[i][c] = make_float4(i, c, 0, 0);\n    __syncthreads();\n"
        "    for (int c = 0; c < 8; c++) out[c * 32 + i] = t[i][c];\n}\n// smemviz: k<<<1, 32>>>(zeros(256))\n"
    )
    found = answered(tmp_path, text, "compiled")
    # 16 requests of 512 bytes: 4 wavefronts each at best, and 8 lanes of each phase in the same banks.
    (best,) = [one for one in found.suggested if isinstance(one.layout, Pad)]
    assert (best.before, best.after, best.checks[0].problem) == (512, 64, None)
    assert "+    __shared__ float4 t[32][9];" in best.diff.splitlines()


def test_a_kernel_of_a_template_is_named_with_its_arguments(tmp_path, command):
    text = (
        "template <typename T, int N> __global__ void turn(T *out) {\n    __shared__ T t[N][N];\n"
        "    int x = threadIdx.x, y = threadIdx.y;\n    t[y][x] = x;\n    __syncthreads();\n"
        "    out[y * N + x] = t[x][y];\n}\n// smemviz: turn<float, 32><<<1, dim3(32, 32)>>>(zeros(1024))\n"
    )
    (tmp_path / "k.cu").write_text(text)
    assert "+    t[y][x ^ y] = x;" in command("suggest", f"{tmp_path / 'k.cu'}:turn<float, 32>").out.splitlines()


def test_a_pointer_that_walks_over_the_pad_is_refuted(tmp_path):
    text = (
        "__global__ void k(int *out) {\n    __shared__ int t[32][32];\n    int x = threadIdx.x, y = threadIdx.y;\n"
        "    t[y][x] = x + y * 32;\n    __syncthreads();\n    int *p = t[0];\n    out[y * 32 + x] = p[x * 32 + y];\n}\n"
        "// smemviz: k<<<1, dim3(32, 32)>>>(zeros(1024))\n"
    )
    found = answered(tmp_path, text)
    (pad,) = [one for one in found.suggested if one.rewrite]
    assert pad.problem is not None
    assert found.diff == ""


def test_data_that_decides_is_not_laid_out_anew(tmp_path):
    text = (
        "__global__ void k(int *out, const int *a) {\n    __shared__ int t[256];\n    int i = threadIdx.x;\n"
        "    t[i] = i;\n    __syncthreads();\n    out[i] = t[a[i]];\n}\n"
        "// smemviz: k<<<1, 256>>>(zeros(256), random(256))\n"
    )
    (refused,) = answered(tmp_path, text).refused
    assert refused.reason == "data decides which words collide, so no pad or swizzle is sure to help"


def test_the_page_suggests_for_cuda_in_the_view_that_is_shown():
    library = Library([kernels_dir() / "square.cu"])
    for file, view in (("square.cu", "source"), ("square.cu@compiled", "compiled")):
        filling = view_suggest(library, Suggester(), {"file": file, "kernel": "set_row_read_col"})
        assert (filling["suggest-panel.hidden"], filling["suggest.disabled"]) == (False, False)
        made = command(Path("square.cu"), "set_row_read_col", {}, library.program(file).variant)
        assert made[3:] == ["suggest", "square.cu:set_row_read_col", "--view", view, "--json"]


WRITTEN = """
// smemviz: column<<<1, dim3(32, 32)>>>(zeros(1024))
// smemviz: apart<<<1, 256>>>(zeros(256))
// smemviz: raced<<<1, 64>>>(zeros(64))
// smemviz: unwritten<<<1, 32>>>(zeros(32))
__global__ void column(float *out) {
    __shared__ float tile[32][32];
    tile[threadIdx.x][threadIdx.y] = 1;
    out[threadIdx.y * 32 + threadIdx.x] = 1;
}
__global__ void apart(float *out) {
    __shared__ float flat[2048];
    flat[threadIdx.x * 8] = 1;
    out[threadIdx.x] = 1;
}
__global__ void raced(float *out) {
    __shared__ float tile[2][32];
    tile[threadIdx.x / 32][threadIdx.x % 32] = 1;
    out[threadIdx.x] = tile[1 - threadIdx.x / 32][threadIdx.x % 32];
}
__global__ void unwritten(float *out) {
    __shared__ float tile[4][32];
    out[threadIdx.x] = tile[3][threadIdx.x];
}
"""


@pytest.mark.exhaustive
def test_what_is_said_of_a_kernel_in_cuda_is_spelled_as_cuda_is(tmp_path, command):
    (tmp_path / "k.cu").write_text(WRITTEN)
    said = command("run", tmp_path / "k.cu", "--json", code=1).out  # it makes mistakes
    said += command("suggest", tmp_path / "k.cu", "--json").out
    for text in (
        "Pad the row of tile by 1, [32][32] -> [32][33] (128 bytes more), or swizzle to tile[r][c ^ r]:",
        "Leave 1 element of flat unused after every 32, index i + i / 32 (256 bytes more), "
        "or swizzle to flat[i ^ (i / 32 % 8)]:",
        "pad the row of tile by 1, [32][32] -> [32][33]",
        "tile[1][0] is stored",
        "no barrier between. Put __syncthreads() between",
        "tile[3][0] is read, but nothing wrote it",
    ):
        assert text in said
    assert not re.search(r"cuda\.|(?<!__)syncthreads|\w\[\w+, |\(32, 32\) ->| // ", said.replace("// smemviz", ""))

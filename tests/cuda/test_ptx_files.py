"""Files of PTX: launches in comments, places in their source, types that the code tells, and errors in one line."""

import numpy as np

import smemviz
from smemviz.app.library import Library
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.engines.options import RunOptions
from smemviz.engines.ptx_runner import run_in_lockstep
from smemviz.frontends.ptx.ptx_program import parse_ptx, plain_name
from smemviz.frontends.ptx.shared_shapes import declared_shared
from smemviz.frontends.reading import read_program

SOURCE = """#define N 32
__global__ void turn(float *out, const float *a) {
    __shared__ float tile[N][N];
    tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * N + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
LAUNCH = "// smemviz: turn<<<1, dim3(32, 32)>>>(zeros(32, 32), arange(32, 32))\n"
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry _Z4turnPfPKf(
    .param .u64 _Z4turnPfPKf_param_0,
    .param .u64 _Z4turnPfPKf_param_1
)
{
    .reg .f32 %f<3>;
    .reg .b32 %r<13>;
    .reg .b64 %rd<9>;
    .loc 1 2 0
    .shared .align 4 .b8 _ZZ4turnPfPKfE4tile[4096];
    ld.param.u64 %rd1, [_Z4turnPfPKf_param_0];
    ld.param.u64 %rd2, [_Z4turnPfPKf_param_1];
    .loc 1 4 5
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, _ZZ4turnPfPKfE4tile;
    shl.b32 %r4, %r2, 5;
    add.s32 %r5, %r4, %r1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    shl.b32 %r6, %r5, 2;
    add.s32 %r7, %r3, %r6;
    st.shared.f32 [%r7], %f1;
    .loc 1 5 5
    bar.sync 0;
    .loc 1 6 5
    shl.b32 %r8, %r1, 5;
    add.s32 %r9, %r8, %r2;
    shl.b32 %r10, %r9, 2;
    add.s32 %r11, %r3, %r10;
    ld.shared.f32 %f2, [%r11];
    add.s64 %rd5, %rd1, %rd3;
    st.global.f32 [%rd5], %f2;
    ret;
}
    .file 1 "/somewhere/else/turn.cu"
"""


def of(folder, text=LAUNCH + PTX):
    """Write a file of PTX."""
    path = folder / "turn.ptx"
    path.write_text(text)
    return path


def shared(launch):
    """Return the sites of a launch in shared memory with what each did."""
    return [(site, row) for site, row in zip(launch.sites, launch.summary(), strict=True) if site.is_shared]


def test_without_its_source_its_own_lines_are_counted(tmp_path):
    launch = smemviz.run(of(tmp_path), engine="lockstep")["turn"]
    rows = {(site.source, site.line): row.wavefronts for site, row in shared(launch)}
    assert rows == {("st.shared.f32 [%r7], %f1;", 28): 32, ("ld.shared.f32 %f2, [%r11];", 36): 1024}
    assert launch.line == 5  # after the launch, as in the file
    (tile,) = (array for array in launch.arrays if array.space == "shared")
    assert (tile.name, tile.shape) == ("tile", (1024,))


def test_beside_its_source_the_source_is_shown_with_its_shapes(tmp_path):
    (tmp_path / "turn.cu").write_text(SOURCE)
    recording = smemviz.run(of(tmp_path), engine="lockstep")
    launch = recording["turn"]
    assert recording.file_of(launch) == (tmp_path / "turn.cu").as_posix()
    assert recording.text(recording.file_of(launch)) == SOURCE
    rows = {(site.source, site.line, site.op): row.wavefronts for site, row in shared(launch)}
    assert rows == {
        ("tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * N + threadIdx.x];", 4, "store"): 32,
        ("out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y];", 6, "load"): 1024,
    }
    (tile,) = (array for array in launch.arrays if array.space == "shared")
    assert (tile.name, tile.shape, tile.dtype, tile.line) == ("tile", (32, 32), "float32", 3)


def test_a_declaration_of_another_size_is_not_taken_for_it(tmp_path):
    (tmp_path / "turn.cu").write_text(SOURCE.replace("[N][N]", "[N][N + 1]"))
    (tile,) = (a for a in smemviz.run(of(tmp_path), engine="lockstep")["turn"].arrays if a.space == "shared")
    assert tile.shape == (1024,)


def test_launches_of_the_source_are_made_where_the_ptx_names_none(tmp_path, command):
    (tmp_path / "turn.cu").write_text(LAUNCH.replace("32, 32)", "N, N)") + SOURCE)
    path = of(tmp_path, PTX.replace(".loc 1 2", ".loc 1 3").replace(".loc 1 4", ".loc 1 5"))
    assert "turn.cu" in command("run", path, "--no-fail").out
    (tmp_path / "turn.cu").write_text("\n" + LAUNCH.replace("turn<", "trun<") + SOURCE)
    said = command("run", path, code=2).err
    assert said.endswith("turn.cu:2: there is no kernel trun; did you mean turn? The file has: turn\n")


def test_what_it_leaves_is_right(tmp_path):
    left = []
    run_in_lockstep(read_program(of(tmp_path)), RunOptions(), lambda kernel, arrays: left.extend(arrays))
    assert np.array_equal(left[0], left[1].T)


def test_the_page_shows_it_and_its_source(tmp_path):
    library = Library([of(tmp_path)])
    (file,) = library.files
    shown = view_run(library, {"file": file, "kernel": "turn"})
    assert shown["eyebrow.html"][0] == "turn.ptx"
    (tmp_path / "turn.cu").write_text(SOURCE)
    assert "tile[threadIdx.y]" in str(
        view_run(Library([of(tmp_path)]), {"file": file, "kernel": "turn"})["source.html"]
    )


def test_what_is_wrong_is_one_line(tmp_path, command):
    for text, said in [
        ("hello\n", "1: has no .entry, so it is not PTX with a kernel"),
        (PTX, "4: has no launch; add a comment such as // smemviz: turn<<<1, 32>>>(zeros(1024), zeros(1024))"),
        (LAUNCH + PTX.replace("shl.b32 %r6", "shll.b32 %r6"), "26: shll.b32 is not executed"),
        (LAUNCH + PTX.replace(".shared .align 4 .b8", ".shred .align 4 .b8"), "14: .shred .align 4 .b8"),
        (LAUNCH + PTX.replace("[%r7]", "[%r7"), "28: st.shared.f32 [%r7, %f1 is not executed"),
        (LAUNCH + PTX.replace(".version 8.0", ".vversion 8.0;"), "2: .vversion 8.0 is not read"),
        (LAUNCH.replace("turn<", "trun<") + PTX, "1: there is no kernel trun; did you mean turn? The file has: turn"),
        (LAUNCH.replace("zeros(32, 32), ", "") + PTX, "1: turn takes 2 arguments (param_0, param_1); the launch gives"),
        (LAUNCH.replace("zeros(32, 32)", "3") + PTX, "1: param_0 is a pointer and takes an array"),
        (LAUNCH.replace("32)>>>", "32>>>") + PTX, "1: _(1, dim3(32, 32) is not read"),
        (
            LAUNCH.replace("zeros(32, 32)", "zeros(32, dtype=real)") + PTX,
            "1: zeros(32, dtype=real) is not read; a type",
        ),
        (
            LAUNCH + PTX.replace("\n{\n    .reg .f32", "\n.reqntid 64\n{\n    .reg .f32"),
            "1: launch of turn refused: turn",
        ),
    ]:
        path = of(tmp_path, text)
        refused = "refused" in said
        written = command("run", path, code=1 if refused else 2)
        line = (written.out if refused else written.err).replace(path.as_posix(), "turn.ptx")
        assert f"turn.ptx:{said}" in line
        assert refused or line.count("\n") == 1


COPY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 .ptr .global .align 16 copy_param_0, .param .align 8 .b8 copy_param_1[16],
                     .param .b32 copy_param_2)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    ld.param.b64 %rd1, [copy_param_0];
    ld.param.b64 %rd2, [copy_param_1];
    ld.param.b32 %r1, [copy_param_1+8];
    ld.param.b32 %r2, [copy_param_2];
    ld.global.b32 %r3, [%rd2];
    st.global.b32 [%rd1], %r3;
    st.global.b32 [%rd1+4], %r1;
    st.global.b32 [%rd1+8], %r2;
    ret;
}
"""


def test_a_type_that_nothing_tells_is_asked_for_and_structures_are_their_fields(tmp_path, command):
    launch = "// smemviz: copy<<<1, 1>>>({}, {{full(7, 1, dtype=int32), 5}}, 1.5)\n"
    said = command("run", of(tmp_path, launch.format("zeros(3)") + COPY), code=2).err
    assert said.endswith("1: the PTX does not say what param_0 points to; write its type, zeros(3, dtype=float32)\n")
    left = []
    path = of(tmp_path, launch.format("zeros(3, dtype=int32)") + COPY)
    run_in_lockstep(read_program(path), RunOptions(), lambda kernel, arrays: left.extend(arrays))
    assert left[0].tolist() == [7, 5, int(np.float32(1.5).view(np.int32))]
    typed = launch.format("zeros(3, dtype=int32)").replace(", 5}", ", int64(4)}")
    run_in_lockstep(read_program(of(tmp_path, typed + COPY)), RunOptions(), lambda kernel, arrays: left.extend(arrays))
    assert left[-3].tolist()[:2] == [7, 4]
    said = command("run", of(tmp_path, launch.format("zeros(3, dtype=int32)").replace(", 5}", "}") + COPY), code=2).err
    assert said.endswith("1: param_1 takes 16 bytes; 8 are given\n")


def test_names_are_those_of_the_source():
    named = [
        plain_name(name) for name in ("turn", "_Z4turnPfPKf", "_ZN1a4turnIfEEvPT_", "_ZN6cudapy8__main__6squareB2v1")
    ]
    assert named == ["turn", "turn", "turn", "square"]
    assert plain_name("kernel_cutlass_turn_it_tensorptrf32gmemo3232321_0") == "turn_it"  # of CuTe DSL
    assert plain_name("turn_it_3970335c_cuda_kernel_forward") == "turn_it"  # of Warp
    twice = parse_ptx(PTX + PTX.replace("_Z4turnPfPKf", "_Z4turnPiPKi"), "turn.ptx")
    assert list(twice.kernels) == ["_Z4turnPfPKf", "_Z4turnPiPKi"]


def test_shapes_that_a_text_does_not_tell_are_left_out():
    text = (
        "#define N 4\n__global__ void k() { __shared__ float4 a[2][N]; __shared__ T b[8]; extern __shared__ int c[]; }"
    )
    known = {one.name: (one.sizes, one.dynamic, one.element.lanes) for one in declared_shared(text)}
    assert known == {"a": ((128, 64, 16), False, 4), "c": ((4,), True, 1)}


def test_a_file_says_what_somebody_wrote_above_what_the_compiler_did(tmp_path):
    for first, summary in (
        ("// A tile,\n// turned.\n//\n", "A tile, turned."),
        ("//\n// Generated\n", ""),
        (LAUNCH, ""),
    ):
        assert read_program(of(tmp_path, first + LAUNCH + PTX)).summary == summary

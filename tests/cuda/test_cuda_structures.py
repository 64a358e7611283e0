"""Structures that a launch line passes by value: their bytes are C++'s, their arrays seen, errors name the field."""

import numpy as np
import pytest

import smemviz
from smemviz.engines.launch_shape import configuration
from smemviz.engines.lockstep.ptx.host.arguments import arrays_among
from smemviz.engines.lockstep.ptx.host.cuda_in_lockstep import _arguments
from smemviz.engines.lockstep.ptx.host.cuda_launch import launch
from smemviz.engines.lockstep.ptx.host.entry import Entry
from smemviz.errors import KernelFileError, LaunchError
from smemviz.frontends.cuda import compile_program, parse_cuda
from smemviz.frontends.cuda.launches import planned_launches
from smemviz.frontends.cuda.structures import Declared, fields_of
from smemviz.paths import kernels_dir

TEXT = """
#define N 8
typedef struct { int width; int height; int stride; float *elements; } Matrix;
struct Both { char first; Matrix of[2]; const void *any; double by = 2.5; };
template <class T> struct Pair { T a; const T *p; };
__global__ void one(Matrix A) { A.elements[threadIdx.x] = A.width; }
__global__ void both(Both b) { b.of[1].elements[threadIdx.x] = b.of[0].elements[threadIdx.x] * b.by + b.of[1].stride; }
__global__ void vector(float *out, float4 v, Pair<short> p) { out[0] = v.z + p.a + p.p[1]; }
"""


def planned(program):
    plans = planned_launches(program)
    compiled = compile_program(program, [plan.kernel for plan in plans])
    for plan in plans:
        entry = Entry(program, compiled, plan.kernel)
        yield plan, entry, _arguments(plan, entry, program)


def values(line, **constants):
    """The arguments of the launch that a line asks for."""
    ((_, _, arguments),) = planned(parse_cuda(f"{TEXT}// smemviz: {line}\n", "x.cu").with_constants(constants))
    return arguments


def launched(program):
    """Make the launches of a program; gives each, and its arrays as the kernel left them."""
    for plan, entry, arguments in planned(program):
        place = (program.file, plan.line)
        made, _ = launch(entry, configuration(place, (plan.grid, plan.block, 0, 0)), arguments, place)
        yield made, arrays_among(arguments)


def said(line):
    with pytest.raises(LaunchError) as refused:
        values(line)
    return str(refused.value)


def test_a_structure_has_the_bytes_that_cpp_gives_it_and_its_arrays():
    (a,) = values("one<<<1, 32>>>(Matrix{N, 2 * N, N + 1, arange(N, 2)})", N=4)
    assert a.data.view(np.int32)[:3].tolist() == [4, 8, 5]
    assert a.data.nbytes == 24
    assert list(a.arrays) == [16]
    field, array = a.arrays[16]
    assert (field, array.dtype, array.tolist()) == (".elements", np.float32, [[0, 1], [2, 3], [4, 5], [6, 7]])


def test_structures_in_structures_arrays_of_them_and_names_of_fields():
    for written in [
        "Both{1, {{2, 3, 4, zeros(5)}, Matrix{6, 7, 8, ones(9)}}, zeros(3)}",
        "{1, {{2, 3, 4, zeros(5)}, {6, 7, 8, ones(9)}}, zeros(3), 2.5,}",
        "Both{.first = 1, .of = {{2, 3, 4, zeros(5)}, {.width = 6, .height = 7, .stride = 8, .elements = ones(9)}}, "
        ".any = zeros(3)}",
    ]:
        (both,) = values(f"both<<<1, 8>>>({written})")
        assert {at: (field, array.shape, str(array.dtype)) for at, (field, array) in both.arrays.items()} == {
            24: (".of[0].elements", (5,), "float32"),
            48: (".of[1].elements", (9,), "float32"),
            56: (".any", (3,), "uint8"),
        }
        assert both.data[0] == 1
        assert both.data[8:20].view(np.int32).tolist() == [2, 3, 4]
        assert both.data[32:44].view(np.int32).tolist() == [6, 7, 8]
        assert both.data[64:].view(np.float64).tolist() == [2.5]


def test_braces_that_are_left_out_leave_no_wrong_names():
    (both,) = values("both<<<1, 8>>>(Both{1, 2, 3, 4, zeros(5), 6, 7, 8, ones(9), nullptr})")
    assert [(at, array.shape) for at, (_, array) in both.arrays.items()] == [(24, (5,)), (48, (9,))]
    assert {field for field, _ in both.arrays.values()} <= {".of", ""}


def test_kernels_read_and_write_through_structures():
    lines = (
        "both<<<1, 8>>>(Both{0, {{8, 1, 8, arange(8)}, {8, 1, 8, zeros(8)}}, nullptr, 0.5})",
        "vector<<<1, 1>>>(zeros(1), float4{1, 2, 3, 4}, {5, ones(2)})",
    )
    (both, arrays), (vector, others) = launched(
        parse_cuda(TEXT + "".join(f"// smemviz: {line}\n" for line in lines), "x")
    )
    assert [(site.array, site.op, site.dtype) for site in both.sites] == [
        ("b.of[0].elements", "load", "float32"),
        ("b.of[1].elements", "store", "float32"),
    ]
    assert arrays[1].tolist() == [8 + 0.5 * i for i in range(8)]
    assert others[0].tolist() == [3 + 5 + 1]
    assert [(array.name, array.dtype) for array in vector.arrays] == [("out", "float32"), ("p.p", "int16")]


def test_errors_name_the_field():
    assert said("one<<<1, 1>>>(Matrix{1, 1, 1, 7})") == (
        'x.cu:9: A.elements: a value of type "int" cannot be used to initialize an entity of type "float *"'
    )
    assert said("one<<<1, 1>>>({1, zeros(2)})") == (
        'x.cu:9: A.height: no suitable conversion function from zeros(2) to "int" exists'
    )
    assert said("one<<<1, 1>>>({1, 2.5})") == 'x.cu:9: A.height: invalid narrowing conversion from "double" to "int"'
    assert said("one<<<1, 1>>>({.widt = 1})") == 'x.cu:9: A.widt: class "Matrix" has no field "widt"'
    assert said("one<<<1, 1>>>({1, 2, 3, zeros(2), 5})") == "x.cu:9: A: too many initializer values"
    assert said("one<<<1, 1>>>(Both{1})") == (
        'x.cu:9: A: no suitable user-defined conversion from "Both" to "Matrix" exists'
    )
    assert said("one<<<1, 1>>>({1, 2, 3, zeros(n)})") == "x.cu:9: n is not read as an argument for A.elements"
    assert said("both<<<1, 1>>>({0, {{zeros(1)}}})").startswith("x.cu:9: b.of[0].width: no suitable conversion")
    assert said("one<<<1, 1>>>(Matrix{1)").startswith("x.cu:9: Matrix{1 is not read")


def test_what_is_no_structure_is_answered_with_one():
    how = "write its values in braces, Matrix{1024, 1024, 1024, zeros(1024)}"
    assert said("one<<<1, 1>>>(zeros(3))") == f"x.cu:9: A is a structure; {how}"
    assert said("one<<<1, 1>>>(3)") == f"x.cu:9: A is a structure; {how}"
    with pytest.raises(KernelFileError, match=r"one<<<1, 32>>>\(Matrix\{1024, 1024, 1024, zeros\(1024\)\}\)"):
        planned_launches(parse_cuda(TEXT, "x.cu"))


def test_fields_are_those_of_the_definition():
    fields = fields_of(
        "struct __align__(16) Tag { const float *__restrict__ a, *b; ns::In in; float m[4], n; static int z; "
        "int q{3}; Tag() : a(0) { b = a; } __device__ float at(int i) const { return a[i]; } private: "
        "Pair<int, float> p;\n"
        "  struct Inner { int y; }; };\n"
        "struct Based : Tag { int k; }; struct Either { union { int a; float b; }; int c; }; struct Only;"
    )
    assert fields("Tag") == (
        Declared("a", "float", pointer=True),
        Declared("b", "float", pointer=True),
        Declared("in", "In"),
        Declared("m", "float", array=True),
        Declared("n", "float"),
        Declared("q", "int"),
        Declared("p", "Pair"),
    )
    assert fields("float3") == (Declared("x", "float"), Declared("y", "float"), Declared("z", "float"))
    assert fields("Based") == fields("Either") == fields("Only") == ()


@pytest.mark.exhaustive
def test_the_product_of_sub_matrices_is_right_whatever_its_row_strides():
    strides = {"A_STRIDE": 70, "B_STRIDE": 72, "C_STRIDE": 65, "TILE": 8}
    program = parse_cuda((kernels_dir() / "submatrix.cu").read_text(), "submatrix.cu").with_constants(strides)
    for _, (found, left, right) in launched(program):
        expected = left.reshape(64, 70)[:, :64] @ right.reshape(64, 72)[:, :64]
        np.testing.assert_allclose(found.reshape(64, 65)[:, :64], expected, rtol=1e-5)


def test_dynamic_memory_begins_aligned_as_it_is_declared():
    """Behind 16 bytes of static memory, which begins at byte 1024; seen on an H200 for 16, 128 and 1024."""
    for alignment, start in [(4, 1040), (16, 1040), (128, 1152), (1024, 2048)]:
        text = f"""__global__ void k(unsigned *out) {{
    extern __shared__ __align__({alignment}) unsigned char more[];
    __shared__ unsigned long long first[2];
    first[threadIdx.x] = 1, more[threadIdx.x] = 1;
    out[0] = __cvta_generic_to_shared(first), out[1] = __cvta_generic_to_shared(more);
}}
"""
        out = np.zeros(2, np.uint32)
        smemviz.cuda_cpp(text)["k"][1, 1, 64](out)
        assert out.tolist() == [1024, start]

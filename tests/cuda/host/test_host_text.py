"""The text for the host's compiler, and the text for the device, of one file."""

import textwrap

from smemviz.engines.cpp_host.program_launches import expression
from smemviz.frontends.cuda.device_text import device_texts
from smemviz.frontends.cuda.host.launch_calls import with_calls
from smemviz.frontends.cuda.host.rewriting import host_text
from smemviz.frontends.cuda.text.declarations import macros_of, specifiers_of


def rewritten(source):
    return host_text(source, "f.cu", specifiers_of(macros_of([source]))).partition("\n")[2]


def test_a_launch_becomes_a_call():
    for source, call in [
        ("k<<<1, 32>>>(a);", "(@1, 32), k(a));"),
        ("k<T, (N > 1)><<<g, b, 4 * n, s>>>(a, f(b));", "(@g, b, 4 * n, s), k<T, (N > 1)>(a, f(b)));"),
        ("ns::k<<<dim3(1, 2), b>>>();", "(@dim3(1, 2), b), ns::k());"),
        ("return table[i]<<<g, b>>>(a);", "return (@g, b), table[i](a));"),
        ("else object->member<<<g, b>>>(a);", "else (@g, b), object->member(a));"),
        ("x = y; (*pointer)<<<g, b>>>(a);", "x = y; (@g, b), (*pointer)(a));"),
        ("k<<<g,\n    b>>>\n  (a,\n   b);", "(@g,\n    b), k\n  (a,\n   b));"),
        ("#define GO(k, ...) k<<<g, \\\n  b>>>(__VA_ARGS__)", "#define GO(k, ...) (@g, \\\n  b), k(__VA_ARGS__))"),
        ('std::cout << "<<<1, 2>>>(a)";', 'std::cout << "<<<1, 2>>>(a)";'),
    ]:
        assert with_calls(source) == call.replace("@", "::smemviz::configure(__FILE__, __LINE__, ").replace(
            ", , ", ", "
        )


def test_kernels_only_say_that_they_are_called_and_lines_stay():
    for source, text in [
        (
            "__global__ void k(float *a, int n) { a[n] = 1; }",
            "__global__ void k(float *a, int n) { struct here {}; ::smemviz::kernel(typeid(here), a, n); }",
        ),
        (
            "template <class T, int N = 2>\n__global__ void\n__launch_bounds__(N * 2)\n"
            "k(const T *, unsigned, T (*f)(T)) {\n\n}",
            "template <class T, int N = 2>\n__global__ void\n__launch_bounds__(N * 2)\n"
            "k(const T * smemviz_0, unsigned smemviz_1, T (*f)(T)) { struct here {}; "
            "::smemviz::kernel(typeid(here), smemviz_0, smemviz_1, f); }\n\n",
        ),
        (
            "template <class... A> __global__ void k(A... a) { }",
            "template <class... A> __global__ void k(A... a) "
            "{ struct here {}; ::smemviz::kernel(typeid(here), a...); }",
        ),
        ("__global__ void k(void) { }", "__global__ void k(void) { struct here {}; ::smemviz::kernel(typeid(here)); }"),
        ("__device__ int f() { return threadIdx.x; }", "__device__ int f() { __builtin_trap(); }"),
        ("__host__ __device__ int f() { return 1; }", "__host__ __device__ int f() { return 1; }"),
        (
            "struct P { int x; __device__ P(int a) : x(a) { use(threadIdx.x); } int get() { return x; } };",
            "struct P { int x; __device__ P(int a) : x(a) { __builtin_trap(); } int get() { return x; } };",
        ),
        (
            "#define ON __device__ inline\nON float f(float a) { return __expf(a); }",
            "#define ON __device__ inline\nON float f(float a) { __builtin_trap(); }",
        ),
        (
            "__constant__ float w[4], v = 2;",
            "__constant__ float w[4], v = 2;"
            + "".join(
                f" [[maybe_unused]] static const int smemviz_{name} = "
                f'::smemviz::declare("{name}", (void *)&{name}, sizeof({name}), false);'
                for name in ("w", "v")
            ),
        ),
        ("__global__ void k(int n);\nint main() { return 0; }", "__global__ void k(int n);\nint main() { return 0; }"),
    ]:
        assert rewritten(source) == text
        assert text.count("\n") == source.count("\n")


def test_a_kernel_is_named_as_cpp_writes_it():
    for name, written in [
        ("turn(float*, int)", "turn"),
        ("plain", "plain"),
        ("void inner::scale<float, 32>(float*, float const*)", "inner::scale<float, 32>"),
        ("void (anonymous namespace)::k<(anonymous namespace)::P>(int)", "k<P>"),
        ("void k<&(add(float, float)), true>(float*)", "k<add, true>"),
        ("void k<(&(ns::add(float, float)))>(float*)", "k<ns::add>"),
    ]:
        assert expression(name) == written


DEVICE = """\
#include <chrono>
using namespace std;
using namespace std::chrono;
typedef float real;
#define SIZE WIDTH
constexpr int WIDTH = 32;
const char *title = "no";
int width = read(), tiles = width / 2;
static cublasHandle_t handle;
enum Mode { FAST, SLOW };
struct Pair { real a; };
struct Timer { std::chrono::steady_clock::time_point at; };
inline int host_only(int a) { return a; }
__host__ __device__ inline Pair made(real a) { return Pair{a}; }
namespace inner { __device__ int twice(int a) { return 2 * a; } int on_host(Timer t) { return 1; } }
template <class T, int N = 32> __global__ void k(T *out) { out[0] = made(inner::twice(SIZE)).a + FAST; }
template <class T> void start(T *out) { k<T><<<1, 32>>>(out); }
template void start<float>(float *);
int main() { Timer timer; return host_only(1); }
"""


def test_the_device_keeps_what_kernels_reach():
    lines = device_texts({"f.cu": DEVICE})["f.cu"].split("\n")
    kept = [line.strip() for line in lines if line.strip()]
    assert kept == [
        "#include <chrono>",
        "using namespace std;",
        "typedef float real;",
        "#define SIZE WIDTH",
        "constexpr int WIDTH = 32;",
        "enum Mode { FAST, SLOW };",
        "struct Pair { real a; };",
        "__host__ __device__ inline Pair made(real a) { return Pair{a}; }",
        f"namespace inner {{ __device__ int twice(int a) {{ return 2 * a; }}{' ' * 36}}}",
        "template <class T, int N = 32> __global__ void k(T *out) { out[0] = made(inner::twice(SIZE)).a + FAST; }",
    ]
    assert [len(line) for line in lines] == [len(line) for line in DEVICE.split("\n")]


def test_what_classes_have_for_the_host_alone_is_left_out():
    source = """\
    struct Lock {
        int *mutex, held{0};
        Lock() : mutex(nullptr), held{1} { cudaMalloc((void **)&mutex, 4); }
    public:
        struct Inner { void show() { std::cout << 1; } __device__ int one() { return 1; } };
        friend std::ostream &operator<<(std::ostream &out, const Lock &l) { return out; }
        __device__ void lock() { while (atomicCAS(mutex, 0, 1)); }
        bool operator==(const Lock &other) const { return mutex == other.mutex; }
        constexpr int two() { return 2; }
        Lock(int);
    };
    __global__ void k(Lock l) { l.lock(); }
    """
    lines = device_texts({"f.cu": textwrap.dedent(source)})["f.cu"].split("\n")
    assert [line.strip() for line in lines if line.strip()] == [
        "struct Lock {",
        "int *mutex, held{0};",
        "public:",
        "struct Inner {" + " " * 33 + "__device__ int one() { return 1; } };",
        "__device__ void lock() { while (atomicCAS(mutex, 0, 1)); }",
        "constexpr int two() { return 2; }",
        "Lock(int);",
        "};",
        "__global__ void k(Lock l) { l.lock(); }",
    ]


def test_what_kernels_reach_is_found_across_files():
    texts = device_texts(
        {
            "f.cu": '#include "a.h"\n__global__ void k(A *a) { a->x = limit(); }\n',
            "a.h": "struct A { int x; };\nstruct B { FILE *file; };\n__device__ int limit() { return 1; }\n",
        }
    )
    assert texts["a.h"].split("\n")[:3:2] == ["struct A { int x; };", "__device__ int limit() { return 1; }"]
    assert texts["a.h"].split("\n")[1].strip() == ""


def test_constants_that_are_declared_together_stay_where_one_of_them_is_used():
    source = "constexpr int A = 1, B = 2;\nconstexpr int C = 3;\n__global__ void k(int *out) { out[0] = B; }\n"
    assert device_texts({"f.cu": source})["f.cu"].split("\n")[:2] == ["constexpr int A = 1, B = 2;", " " * 20]

"""The headers that a text includes: those beside it are read here, and each has to be found before NVRTC starts.

Of those that NVRTC does not have, what they would declare for device code is kept here. It knows ``size_t``,
``printf``, ``assert`` and the mathematical functions by itself; what only a host uses is empty.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import isfile  # unlike Path's it has no error for names that no file can have
from pathlib import Path, PureWindowsPath

from smemviz.errors import KernelFileError
from smemviz.frontends.cuda.nvrtc import include_folders
from smemviz.frontends.cuda.text.lexing import Lines, as_one_line, directives, scan
from smemviz.messages import english

_INCLUDE = re.compile(r'#\s*include\s*(?:"(?P<beside>[^"\n]+)"|<(?P<known>[^>\n]+)>)')
_READS = re.compile(r"#\s*(?:include\w*|import|embed)\b")
_ASKS = ("__has_include", "__has_include_next", "__has_embed")
_ASKED = re.compile(r"__has_include\w*\s*\(\s*[<\"]([^>\"\n]+)")
_WORD = re.compile(r"[A-Za-z_]\w*")

THRUST_HEADERS = tuple(f"thrust/{part}.h" for part in ("host_vector", "device_vector", "device_ptr", "copy"))

_MOST_BYTES = 16 << 20  # of the headers of a file
_PACKAGES = {"curand_kernel.h": "nvidia-curand"}
_INTEGERS = {
    **{f"{sign}int{8 * size}_t": f"{word} {name}" for size, name in ((1, "char"), (2, "short"), (4, "int"))
       for sign, word in (("", "signed"), ("u", "unsigned"))},
    "int64_t": "signed long long",
    "uint64_t": "unsigned long long",
    "intptr_t": "signed long long",
    "uintptr_t": "unsigned long long",
}  # fmt: skip
_STDINT = "#pragma once\n" + "".join(f"typedef {text} {name};\n" for name, text in _INTEGERS.items())
_CSTDINT = "#pragma once\n#include <stdint.h>\nnamespace std {\n" + "".join(
    f"using ::{name};\n" for name in _INTEGERS
)  # closed below
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffu
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 0xffffffffffffffffull
"""
_FLOAT = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_EPSILON 2.2204460492503131e-016
"""
_MATH = """#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
"""
# CuPy's own is thrust's, of which the compiler's library has the same under another name.
_COMPLEX = """#pragma once
#include <cuda/std/complex>
namespace thrust = cuda::std;
using cuda::std::complex;
"""
# All of it is for programs that have a host; this is what blocks and warps call.
_CUB = (
    "#pragma once\n"
    + "".join(
        f"#include <cub/{part}.cuh>\n"
        for part in (
            *(
                f"block/block_{name}"
                for name in ("reduce", "scan", "load", "store", "radix_sort", "exchange", "histogram")
            ),
            *(
                "warp/warp_reduce",
                "warp/warp_scan",
                "thread/thread_load",
                "thread/thread_store",
                "thread/thread_operators",
            ),
        )
    )
    + """#include <cuda/functional>
#include <cuda/std/functional>
namespace cub {
using Sum = cuda::std::plus<>;
using Max = cuda::maximum<>;
using Min = cuda::minimum<>;
}
"""
)  # CUDA 13 has no more of these names
_HOST = "#pragma once\nnamespace std {}\n"
_OF_THE_HOST = """
assert.h cassert stdio.h cstdio stdlib.h cstdlib string.h cstring stddef.h cstddef time.h ctime ctype.h cctype
errno.h cerrno signal.h csignal locale.h clocale setjmp.h csetjmp stdarg.h cstdarg stdbool.h wchar.h cwchar fenv.h cfenv
algorithm any array atomic barrier bit bitset charconv chrono complex condition_variable deque exception execution
filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch
limits list locale map memory memory_resource mutex new numeric optional ostream queue random ratio regex
scoped_allocator semaphore set shared_mutex span sstream stack stdexcept streambuf string string_view strstream
system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
concepts compare coroutine format numbers ranges source_location version
unistd.h malloc.h memory.h omp.h sys/time.h sys/stat.h windows.h
"""

# For device code that names std: CUDA's own library has these names.
STANDARD = {
    name: f"#pragma once\n#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"
    for name in ("array", "complex", "functional", "limits", "tuple", "type_traits", "utility")
}
# Of the driver's header a kernel wants the type of a tensor map alone.
_DRIVER = _HOST + "typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;\n"
EVERYWHERE = "smemviz/everywhere.h"  # what nvcc includes by itself: the host's C library has these names

HEADERS = {
    EVERYWHERE: "typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;\n"
    "#include <stdint.h>\n#include <limits.h>\n#include <math.h>\n",
    "stdint.h": _STDINT,
    "cstdint": _CSTDINT + "}\n",
    "inttypes.h": "#include <stdint.h>\n",
    "limits.h": _LIMITS,
    "climits": "#include <limits.h>\n",
    "float.h": _FLOAT,
    "cfloat": "#include <float.h>\n",
    "math.h": _MATH,
    "cmath": "#include <math.h>\n" + _HOST,
    "cupy/complex.cuh": _COMPLEX,
    "cub/cub.cuh": _CUB,
    **dict.fromkeys(("cuda.h", "cudaTypedefs.h"), _DRIVER),
    **dict.fromkeys(("cublas_v2.h", "cublas.h", "cublasLt.h"), "#include <cuda_bf16.h>\n#include <cuComplex.h>\n"),
    **dict.fromkeys(
        (
            *_OF_THE_HOST.split(),
            *("cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "device_functions.h"),
            *(
                "math_functions.h",
                "helper_cuda.h",
                "helper_functions.h",
                "curand.h",
                *("nvToolsExt.h", "nvtx3/nvToolsExt.h", "helper_string.h", "helper_timer.h"),
                *THRUST_HEADERS,
            ),
        ),
        _HOST,
    ),
}


# What compilers say where they know nothing of a name: a type, a macro, a function, a namespace or a template.
_BY_A_HEADER = re.compile(
    "is undefined|not been declared|expected|has no member|is not a (?:template|type|class)|not a type name|"
    "must be a class or namespace|no storage class or type|type is missing|type specifier is required|incomplete type|"
    "does not apply here|no instance of"
)


@dataclass(frozen=True)
class Missing:
    """A header that is not read, and the line that includes it."""

    name: str
    file: str
    line: int

    def error(self, why: KernelFileError) -> KernelFileError:
        """Return what to do about it where the file does not compile without it, or why else it does not."""
        if not _BY_A_HEADER.search(why.what):
            return why
        what = english(
            "the header {name} is not in the folder of the file, and without it line {line} does not compile: {why}; "
            "put it beside the file, or name its folder with -I",
            name=self.name,
            line=why.line,
            why=why.what,
        )
        return KernelFileError(self.file, self.line, to_install(self.name) or what)


def to_install(header: str) -> str:
    """Say which package brings a header of CUDA; empty for any other."""
    package = _PACKAGES.get(header, "")
    what = english(
        "the header {name} is not there; install it with pip install {package}", name=header, package=package
    )
    return what if package else ""


def own_headers(source: str, file: str, folders: Sequence[str] = ()) -> tuple[dict[str, str], tuple[Missing, ...]]:
    """Return the texts of the headers beside a file that it includes, and those that these include, by their names.

    Those in other ``folders`` count as beside it, but as the user's own choice they may ask of files what they like.
    With them those that are missing: neither there, nor of CUDA, nor of the standard library. They are empty, for most
    declare what only the host uses.

    Raises:
        KernelFileError: for whatever else would have NVRTC look at a file.
    """
    beside, *chosen = (Path(folder).resolve() for folder in (str(Path(file).parent), *folders))
    headers: dict[str, str] = {}
    missing: list[Missing] = []
    waiting = [(source, file)]
    words: set[str] = set()
    asked: set[str] = set()  # whether they are there: an empty one would be
    while waiting:
        text, where = waiting.pop()
        is_chosen = where != file and any(map(Path(where).is_relative_to, chosen))
        asked |= set(_ASKED.findall(text)) if is_chosen else set()
        for name, line, quoted in included(text, where, None if is_chosen else words):
            if name in headers:
                continue
            if Path(name).is_absolute() or PureWindowsPath(name).is_absolute():
                what = english("the header {name} has an absolute path; write it relative to the file", name=name)
                raise KernelFileError(where, line, what)
            places = [*([str(Path(where).parent)] if quoted else []), *folders]
            paths = [Path(place) / name for place in places]
            own = next(
                (path for path in paths if isfile(path) and any(map(path.resolve().is_relative_to, (beside, *chosen)))),
                None,
            )
            if own is not None and name not in HEADERS:
                headers[name] = _read(own, name, sum(map(len, headers.values())), (where, line))
                waiting.append((headers[name], own.resolve().as_posix()))
            elif not is_of_cuda(name):
                headers[name] = ""
                missing.append(Missing(name, where, line))
    for absent in (absent for absent in missing if absent.name in asked):
        del headers[absent.name]
    return headers, tuple(missing)


def _read(path: Path, name: str, read_before: int, place: tuple[str, int]) -> str:
    """Return the text of a header.

    Raises:
        KernelFileError: at the place that includes it, where it cannot be read or is too large.
    """
    try:
        if path.stat().st_size + read_before <= _MOST_BYTES:
            return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        what = english("the header {name} cannot be read: {error}", name=name, error=error.strerror)
        raise KernelFileError(*place, what) from None
    most = _MOST_BYTES >> 20
    what = english("with the header {name} there are more than {most} MiB of headers", name=name, most=most)
    raise KernelFileError(*place, what)


def is_of_cuda(name: str) -> bool:
    """Whether a name, or a path that NVRTC gives, is that of a header of CUDA or of the standard library."""
    path, folders = Path(name), include_folders()
    if path.is_absolute():
        return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
    return name in HEADERS or (".." not in path.parts and any(isfile(folder / path) for folder in folders))


def included(source: str, file: str, words: set[str] | None = None) -> Iterator[tuple[str, int, bool]]:
    """Give each header that a text includes by name, with its line and whether it stands in quotes.

    ``words`` are the names in the texts before, to which those of this one are added: macros may paste them. Without
    it nothing is refused.

    Raises:
        KernelFileError: with ``words``, for what asks of files in another way and what NVRTC would not read.
    """
    lines = Lines(source)
    if words is not None and "\0" in source:
        line = lines.place(source.index("\0"))[0]
        raise KernelFileError(file, line, english("has a NUL character, at which the compiler stops; remove it"))
    for token in directives(source) if words is None else scan(source):
        text = as_one_line(token)
        if token.kind == "directive":
            match = _INCLUDE.match(text)
            if match:
                yield match["beside"] or match["known"], lines.place(token.start)[0], match["beside"] is not None
            elif words is not None and _READS.match(text):
                what = english('{code} is not followed; write #include "name"', code=" ".join(text.split()))
                raise KernelFileError(file, lines.place(token.start)[0], what)
        if words is None or token.kind == "comment":
            continue
        new = set(_WORD.findall(text) if token.kind in ("name", "directive") else ()) - words
        words |= new
        if asked := next((word for word in _ASKS if word in text), ""):
            what = english("{code} is not supported; leave it out", code=asked)
            raise KernelFileError(file, lines.place(token.start)[0], what)
        if any(word in asked for word in new for asked in _ASKS) and (asked := _pasted(words)):
            what = english("{code} can be pasted from this, and is not supported; use other names", code=asked)
            raise KernelFileError(file, lines.place(token.start)[0], what)


def _pasted(words: set[str]) -> str:
    """Return which of what asks of files can be pasted from names, empty where none can."""
    for asked in _ASKS:
        reached = {0}
        for at in range(len(asked)):
            if at in reached:
                reached |= {end for end in range(at + 1, len(asked) + 1) if asked[at:end] in words}
        if len(asked) in reached:
            return asked
    return ""

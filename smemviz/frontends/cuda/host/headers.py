"""Headers that the host's compiler reads in place of CUDA's own."""

from __future__ import annotations

from smemviz.frontends.cuda.host.libraries import CUBLAS, CURAND

_COOPERATIVE = """#pragma once
namespace cooperative_groups {
struct thread_group {};
struct thread_block : thread_group {};
struct grid_group : thread_group {};
struct cluster_group : thread_group {};
struct coalesced_group : thread_group {};
template <unsigned N, class Parent = void> struct thread_block_tile : thread_group {};
template <class T> struct plus {};
template <class T> struct less {};
template <class T> struct greater {};
}
"""
_WMMA = """#pragma once
#include <cuda_fp16.h>
namespace nvcuda { namespace wmma {
struct matrix_a; struct matrix_b; struct accumulator; struct row_major; struct col_major;
enum layout_t { mem_row_major, mem_col_major };
template <class, int, int, int, class, class = void> struct fragment {};
namespace precision { struct tf32; struct u4; struct s4; struct b1; }
namespace experimental { namespace precision { struct u4; struct s4; struct b1; } }
} }
"""
# The part of NVIDIA's samples that most files use.
_HELPER = """#pragma once
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef checkCudaErrors
#define checkCudaErrors(call) smemviz_check((call), #call, __FILE__, __LINE__)
#endif
#ifndef getLastCudaError
#define getLastCudaError(words) smemviz_check(cudaGetLastError(), words, __FILE__, __LINE__)
#endif
static inline void smemviz_check(cudaError_t error, const char *call, const char *file, int line) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \\"%s\\"\\n", file, line, (int)error, cudaGetErrorName(error), call);
  exit(EXIT_FAILURE);
}
static inline int findCudaDevice(int, const char **) { return 0; }
static inline int gpuGetMaxGflopsDeviceId() { return 0; }
static inline int _ConvertSMVer2Cores(int, int) { return 128; }
"""
_PROFILER = """#pragma once
#include <cuda_runtime.h>
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();
"""
_NONE = "#pragma once\n"

HOST_HEADERS = {
    "cooperative_groups.h": _COOPERATIVE,
    "cooperative_groups/reduce.h": "#include <cooperative_groups.h>\n",
    "cooperative_groups/scan.h": "#include <cooperative_groups.h>\n",
    "cooperative_groups/memcpy_async.h": "#include <cooperative_groups.h>\n",
    "mma.h": _WMMA,
    "helper_cuda.h": _HELPER,
    "cuda_profiler_api.h": _PROFILER,
    **dict.fromkeys(("cublas_v2.h", "cublas.h", "cublasLt.h"), CUBLAS),
    "curand.h": CURAND,
    **dict.fromkeys(
        ("cuda_pipeline.h", "cuda_pipeline_primitives.h", "device_functions.h", "cuda/pipeline", "cuda/barrier"), _NONE
    ),
    **dict.fromkeys(
        (
            *("cub/cub.cuh", "cub/util_type.cuh"),
            *(f"cub/block/block_{part}.cuh" for part in ("reduce", "scan", "load", "store", "radix_sort", "exchange")),
            *(f"cub/warp/warp_{part}.cuh" for part in ("reduce", "scan")),
        ),
        _NONE + "namespace cub {}\n",
    ),
}

"""Headers that the host's compiler reads in place of CUDA's own."""

from smemviz.frontends.cuda.host.libraries import CUBLAS, CURAND
from smemviz.frontends.cuda.host.vectors import VECTORS
from smemviz.frontends.cuda.includes import THRUST_HEADERS

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
_FUNCTIONS = """#pragma once
#include <chrono>
#include <helper_cuda.h>
#include <string.h>
#define EXIT_WAIVED 2
static inline const char *smemviz_flag(int argc, const char **argv, const char *name) {
  const size_t length = strlen(name);
  for (int number = 1; number < argc; number++) {
    const char *word = argv[number] + strspn(argv[number], "-");
    const bool named = word != argv[number] && !strncmp(word, name, length);
    if (named && (!word[length] || word[length] == '=')) return word + length;
  }
  return nullptr;
}
static inline bool checkCmdLineFlag(int argc, const char **argv, const char *name) {
  return smemviz_flag(argc, argv, name);
}
static inline int getCmdLineArgumentInt(int argc, const char **argv, const char *name) {
  const char *value = smemviz_flag(argc, argv, name);
  return value && *value ? atoi(value + 1) : 0;
}
static inline float getCmdLineArgumentFloat(int argc, const char **argv, const char *name) {
  const char *value = smemviz_flag(argc, argv, name);
  return value && *value ? (float)atof(value + 1) : 0;
}
struct StopWatchInterface { std::chrono::steady_clock::time_point from; float passed; };
static inline bool sdkCreateTimer(StopWatchInterface **timer) { return *timer = new StopWatchInterface(); }
static inline bool sdkDeleteTimer(StopWatchInterface **timer) { delete *timer; return !(*timer = nullptr); }
static inline bool sdkStartTimer(StopWatchInterface **timer) {
  (*timer)->from = std::chrono::steady_clock::now();
  return true;
}
static inline bool sdkStopTimer(StopWatchInterface **timer) {
  std::chrono::duration<float, std::milli> passed = std::chrono::steady_clock::now() - (*timer)->from;
  (*timer)->passed += passed.count();
  return true;
}
static inline bool sdkResetTimer(StopWatchInterface **timer) { (*timer)->passed = 0; return sdkStartTimer(timer); }
static inline float sdkGetTimerValue(StopWatchInterface **timer) { return (*timer)->passed; }
static inline float sdkGetAverageTimerValue(StopWatchInterface **timer) { return (*timer)->passed; }
"""
_MARKS = """#pragma once
static inline int nvtxRangePushA(const char *) { return 0; }
static inline int nvtxRangePush(const char *) { return 0; }
static inline int nvtxRangePop() { return 0; }
static inline void nvtxMarkA(const char *) {}
static inline void nvtxMark(const char *) {}
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
    **dict.fromkeys(("helper_functions.h", "helper_string.h", "helper_timer.h"), _FUNCTIONS),
    **dict.fromkeys(("nvToolsExt.h", "nvtx3/nvToolsExt.h"), _MARKS),
    "cuda_profiler_api.h": _PROFILER,
    **dict.fromkeys(("cublas_v2.h", "cublas.h", "cublasLt.h"), CUBLAS),
    "curand.h": CURAND,
    **dict.fromkeys(THRUST_HEADERS, VECTORS),
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

"""Libraries that only a GPU runs: headers that stand for some, whose calls NumPy answers, and whose a header is."""

from __future__ import annotations

import re

from smemviz.frontends.cuda.host import blas


def _library(types: str, status: str, done: str, missing: str) -> str:
    """Return a header of a library that is not here: of its functions some do nothing, the others end the program.

    Each returns a ``status``, of which 0 is success.
    """
    lines = [
        "#pragma once",
        "#include <cuda_runtime.h>",
        "#include <cuComplex.h>",
        "#include <cuda_bf16.h>",
        "#include <library_types.h>",
    ]
    lines += ['extern "C" void smemviz_missing(const char *name);', types]
    for name in (*done.split(), *missing.split()):
        ends = f'smemviz_missing("{name}"); ' if name in missing.split() else ""
        head = f"template <class... Arguments> inline {status} {name}(Arguments &&...)"
        lines.append(f"{head} {{ {ends}return ({status})0; }}")
    return "\n".join(lines) + "\n"


CUBLAS = (
    _library(
        blas.TYPES,
        "cublasStatus_t",
        *(" ".join(f"cublas{name}" for name in names.split()) for names in (blas.DONE, blas.MISSING)),
    )
    + blas.CALLS
)
CURAND = _library(
    """
typedef struct smemviz_curand *curandGenerator_t;
enum curandStatus_t { CURAND_STATUS_SUCCESS, CURAND_STATUS_NOT_INITIALIZED = 101 };
enum curandRngType_t { CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161 };
namespace smemviz {
// Numbers of NumPy's, with the distribution that is asked for: not those that cuRAND gives for the same seed.
template <class T>
curandStatus_t drawn(const char *how, curandGenerator_t of, T *to, size_t count, double a = 0, double b = 0) {
  const double size = sizeof(T);
  return (curandStatus_t)library(how, {(double)(uintptr_t)of, (double)(uintptr_t)to, (double)count, size, a, b});
}
}
inline curandStatus_t curandCreateGenerator(curandGenerator_t *of, curandRngType_t) {
  static uintptr_t number = 0;
  *of = (curandGenerator_t)(number += 16);
  return (curandStatus_t)smemviz::library("seed", {(double)number, 0});
}
inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t of, unsigned long long seed) {
  return (curandStatus_t)smemviz::library("seed", {(double)(uintptr_t)of, (double)(seed & 0xfffffffffffff)});
}
inline curandStatus_t curandGenerate(curandGenerator_t of, unsigned *to, size_t n) {
  return smemviz::drawn("integers", of, to, n);
}
#define SMEMVIZ_DRAWN(NAME, T, HOW)                                                                     \\
  inline curandStatus_t NAME(curandGenerator_t of, T *to, size_t n, T mean, T deviation) {              \\
    return smemviz::drawn(HOW, of, to, n, mean, deviation);                                             \\
  }
SMEMVIZ_DRAWN(curandGenerateNormal, float, "normal")
SMEMVIZ_DRAWN(curandGenerateNormalDouble, double, "normal")
SMEMVIZ_DRAWN(curandGenerateLogNormal, float, "lognormal")
SMEMVIZ_DRAWN(curandGenerateLogNormalDouble, double, "lognormal")
#undef SMEMVIZ_DRAWN
inline curandStatus_t curandGenerateUniform(curandGenerator_t of, float *to, size_t n) {
  return smemviz::drawn("uniform", of, to, n);
}
inline curandStatus_t curandGenerateUniformDouble(curandGenerator_t of, double *to, size_t n) {
  return smemviz::drawn("uniform", of, to, n);
}
inline curandStatus_t curandGeneratePoisson(curandGenerator_t of, unsigned *to, size_t n, double mean) {
  return smemviz::drawn("poisson", of, to, n, mean);
}
""",
    "curandStatus_t",
    "curandDestroyGenerator curandSetStream curandSetGeneratorOffset curandSetGeneratorOrdering curandGenerateSeeds",
    "curandCreateGeneratorHost curandSetQuasiRandomGeneratorDimensions",
)

_LIBRARIES = {
    r"cudnn\w*\.h": "cuDNN",
    r"cufft\w*\.h": "cuFFT",
    r"cusparse\w*\.h": "cuSPARSE",
    r"cusolver\w*\.h": "cuSOLVER",
    r"nccl\.h": "NCCL",
    r"npp\w*\.h": "NPP",
    r"thrust/.*": "Thrust",
    r"cub/device/.*": "CUB's device-wide functions",
    r"cutlass/.*|cute/.*": "CUTLASS",
    r"(GL|GLFW)/.*|glad/.*|cuda_gl_interop\.h|helper_gl\.h": "OpenGL",
    r"opencv\d?/.*": "OpenCV",
    r"torch/.*|ATen/.*|c10/.*": "PyTorch",
    r"mpi\.h": "MPI",
}


def library_of(header: str) -> str:
    """Return the library that a header is of and that is not here; empty for any other."""
    return next((name for pattern, name in _LIBRARIES.items() if re.fullmatch(pattern, header)), "")

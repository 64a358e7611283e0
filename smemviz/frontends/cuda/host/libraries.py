"""Libraries that only a GPU runs: what programs need to know of some to be compiled, and whose a header is."""

from __future__ import annotations

import re


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


CUBLAS = _library(
    """
typedef struct smemviz_cublas *cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED,
  CUBLAS_STATUS_LICENSE_ERROR };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75, CUBLAS_COMPUTE_32F_FAST_TF32 = 77, CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32I = 72 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT };
typedef struct smemviz_cublas_lt *cublasLtHandle_t;
inline cublasStatus_t cublasCreate(cublasHandle_t *handle) { *handle = nullptr; return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) { *handle = nullptr; return CUBLAS_STATUS_SUCCESS; }
""",
    "cublasStatus_t",
    "cublasDestroy cublasSetStream cublasSetMathMode cublasSetPointerMode cublasLtDestroy cublasSetWorkspace",
    "cublasSgemm cublasDgemm cublasHgemm cublasGemmEx cublasSgemmStridedBatched cublasDgemmStridedBatched "
    "cublasHgemmStridedBatched cublasGemmStridedBatchedEx cublasSgemmBatched cublasGemmBatchedEx cublasSgemv "
    "cublasDgemv cublasSgeam cublasDgeam cublasSaxpy cublasDaxpy cublasSdot cublasDdot cublasSnrm2 cublasDnrm2 "
    "cublasSscal cublasDscal cublasSasum cublasDasum cublasIsamax cublasIdamax cublasSger cublasScopy cublasDcopy "
    "cublasStrsm cublasSetMatrix cublasGetMatrix cublasSetVector cublasGetVector cublasLtMatmul",
)
CURAND = _library(
    """
typedef struct smemviz_curand *curandGenerator_t;
enum curandStatus_t { CURAND_STATUS_SUCCESS, CURAND_STATUS_NOT_INITIALIZED = 101 };
enum curandRngType_t { CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161 };
inline curandStatus_t curandCreateGenerator(curandGenerator_t *of, curandRngType_t) {
  *of = nullptr;
  return CURAND_STATUS_SUCCESS;
}
""",
    "curandStatus_t",
    "curandDestroyGenerator curandSetPseudoRandomGeneratorSeed curandSetStream curandSetGeneratorOffset",
    "curandGenerate curandGenerateUniform curandGenerateUniformDouble curandGenerateNormal curandGenerateNormalDouble "
    "curandGenerateLogNormal curandGeneratePoisson",
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

"""Libraries that only a GPU runs: headers that stand for some, whose calls NumPy answers, and whose a header is."""

import re

_BLAS_TYPES = """
typedef struct smemviz_cublas *cublasHandle_t;
typedef struct smemviz_cublas_lt *cublasLtHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED,
  CUBLAS_STATUS_LICENSE_ERROR };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_ALGO0, CUBLAS_GEMM_ALGO1,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_16F_PEDANTIC, CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC, CUBLAS_COMPUTE_32I,
  CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT };
inline cublasStatus_t cublasCreate(cublasHandle_t *handle) {
  *handle = (cublasHandle_t)16;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) { *handle = nullptr; return CUBLAS_STATUS_SUCCESS; }
inline const char *cublasGetStatusString(cublasStatus_t status) { return status ? "the call failed" : "success"; }
"""

_BLAS_DONE = "Destroy SetStream SetMathMode SetPointerMode LtDestroy SetWorkspace SetAtomicsMode GetVersion"
_BLAS_MISSING = "SgemmBatched GemmBatchedEx Strsm Dtrsm Strmm Ssymm Ssyrk Srot LtMatmul"

_BLAS_CALLS = """
namespace smemviz {
template <class T> double number(T value) { return (double)value; }
template <class T> double number(T *address) { return (double)(uintptr_t)address; }
template <class T> double scalar(const T *place) {
  T value;
  cudaMemcpy(&value, place, sizeof value, cudaMemcpyDefault);
  return (double)value;
}
template <> inline double scalar(const __half *place) {
  __half value;
  cudaMemcpy(&value, place, sizeof value, cudaMemcpyDefault);
  return __half2float(value);
}
inline double scalar(const void *place, int type) {
  if (type == CUDA_R_16F) return scalar((const __half *)place);
  if (type == CUDA_R_64F) return scalar((const double *)place);
  return type == CUDA_R_32I ? scalar((const int *)place) : scalar((const float *)place);
}
inline int type_of(cublasComputeType_t how) {
  if (how == CUBLAS_COMPUTE_16F || how == CUBLAS_COMPUTE_16F_PEDANTIC) return CUDA_R_16F;
  if (how == CUBLAS_COMPUTE_64F || how == CUBLAS_COMPUTE_64F_PEDANTIC) return CUDA_R_64F;
  return how == CUBLAS_COMPUTE_32I ? CUDA_R_32I : CUDA_R_32F;
}
inline int type_of(cudaDataType type) { return type; }
template <class... Numbers> cublasStatus_t blas(const char *name, Numbers... numbers) {
  return (cublasStatus_t)library(name, {number(numbers)...});
}
template <class T, class... Numbers> cublasStatus_t blas_result(T *result, const char *name, Numbers... numbers) {
  double value = 0;
  const int64_t status = library(name, {number(numbers)...}, &value);
  const T found = (T)value;
  cudaMemcpy(result, &found, sizeof found, cudaMemcpyDefault);
  return (cublasStatus_t)status;
}
}
#define SMEMVIZ_PRODUCT(L, T, KIND)                                                                                   \\
  inline cublasStatus_t cublas##L##gemm(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n,     \\
      int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc) {                \\
    return smemviz::blas("gemm", KIND, KIND, KIND, ta, tb, m, n, k, smemviz::scalar(alpha), a, lda, 0, b, ldb, 0,     \\
                         smemviz::scalar(beta), c, ldc, 0, 1);                                                        \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##gemmStridedBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb,     \\
      int m, int n, int k, const T *alpha, const T *a, int lda, long long sa, const T *b, int ldb, long long sb,      \\
      const T *beta, T *c, int ldc, long long sc, int count) {                                                        \\
    return smemviz::blas("gemm", KIND, KIND, KIND, ta, tb, m, n, k, smemviz::scalar(alpha), a, lda, sa, b, ldb, sb,   \\
                         smemviz::scalar(beta), c, ldc, sc, count);                                                   \\
  }
#define SMEMVIZ_VECTORS(L, T, KIND)                                                                                   \\
  SMEMVIZ_PRODUCT(L, T, KIND)                                                                                         \\
  inline cublasStatus_t cublas##L##gemv(cublasHandle_t, cublasOperation_t ta, int m, int n, const T *alpha,           \\
      const T *a, int lda, const T *x, int dx, const T *beta, T *y, int dy) {                                         \\
    return smemviz::blas("gemv", KIND, ta, m, n, smemviz::scalar(alpha), a, lda, x, dx, smemviz::scalar(beta), y, dy);\\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##ger(cublasHandle_t, int m, int n, const T *alpha, const T *x, int dx, const T *y,  \\
      int dy, T *a, int lda) {                                                                                        \\
    return smemviz::blas("ger", KIND, m, n, smemviz::scalar(alpha), x, dx, y, dy, a, lda);                            \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##geam(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n,     \\
      const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, T *c, int ldc) {                       \\
    return smemviz::blas("geam", KIND, ta, tb, m, n, smemviz::scalar(alpha), a, lda, smemviz::scalar(beta), b, ldb,   \\
                         c, ldc);                                                                                     \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##axpy(cublasHandle_t, int n, const T *alpha, const T *x, int dx, T *y, int dy) {    \\
    return smemviz::blas("axpy", KIND, n, smemviz::scalar(alpha), x, dx, y, dy);                                      \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##scal(cublasHandle_t, int n, const T *alpha, T *x, int dx) {                        \\
    return smemviz::blas("scal", KIND, n, smemviz::scalar(alpha), x, dx);                                             \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##copy(cublasHandle_t, int n, const T *x, int dx, T *y, int dy) {                    \\
    return smemviz::blas("copy", KIND, n, x, dx, y, dy);                                                              \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##dot(cublasHandle_t, int n, const T *x, int dx, const T *y, int dy, T *result) {    \\
    return smemviz::blas_result(result, "dot", KIND, n, x, dx, y, dy);                                                \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##nrm2(cublasHandle_t, int n, const T *x, int dx, T *result) {                       \\
    return smemviz::blas_result(result, "nrm2", KIND, n, x, dx);                                                      \\
  }                                                                                                                   \\
  inline cublasStatus_t cublas##L##asum(cublasHandle_t, int n, const T *x, int dx, T *result) {                       \\
    return smemviz::blas_result(result, "asum", KIND, n, x, dx);                                                      \\
  }
SMEMVIZ_VECTORS(S, float, 0)
SMEMVIZ_VECTORS(D, double, 1)
SMEMVIZ_PRODUCT(H, __half, 2)
#undef SMEMVIZ_VECTORS
#undef SMEMVIZ_PRODUCT
#define SMEMVIZ_LARGEST(NAME, T, KIND)                                                                  \\
  inline cublasStatus_t NAME(cublasHandle_t, int n, const T *x, int dx, int *result) {                  \\
    return smemviz::blas_result(result, "amax", KIND, n, x, dx);                                        \\
  }
SMEMVIZ_LARGEST(cublasIsamax, float, 0)
SMEMVIZ_LARGEST(cublasIdamax, double, 1)
#undef SMEMVIZ_LARGEST
template <class Compute, class Algorithm>
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
    int k, const void *alpha, const void *a, cudaDataType type_a, int lda, long long sa, const void *b,
    cudaDataType type_b, int ldb, long long sb, const void *beta, void *c, cudaDataType type_c, int ldc, long long sc,
    int count, Compute how, Algorithm) {
  const int type = smemviz::type_of(how);
  return smemviz::blas("gemm", type_a, type_b, type_c, ta, tb, m, n, k, smemviz::scalar(alpha, type), a, lda, sa, b,
                       ldb, sb, smemviz::scalar(beta, type), c, ldc, sc, count);
}
template <class Compute, class Algorithm>
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void *alpha, const void *a, cudaDataType type_a, int lda, const void *b, cudaDataType type_b, int ldb,
    const void *beta, void *c, cudaDataType type_c, int ldc, Compute how, Algorithm algorithm) {
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c,
                                    type_c, ldc, 0, 1, how, algorithm);
}
inline cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
    int k, const float *alpha, const void *a, cudaDataType type_a, int lda, const void *b, cudaDataType type_b, int ldb,
    const float *beta, void *c, cudaDataType type_c, int ldc) {
  return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
inline cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void *a, int lda, void *b, int ldb) {
  return (cublasStatus_t)(cudaMemcpy2D(b, (size_t)ldb * size, a, (size_t)lda * size, (size_t)rows * size, columns,
                                       cudaMemcpyDefault) ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS);
}
inline cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void *a, int lda, void *b, int ldb) {
  return cublasSetMatrix(rows, columns, size, a, lda, b, ldb);
}
inline cublasStatus_t cublasSetVector(int n, int size, const void *x, int dx, void *y, int dy) {
  return cublasSetMatrix(1, n, size, x, dx, y, dy);
}
inline cublasStatus_t cublasGetVector(int n, int size, const void *x, int dx, void *y, int dy) {
  return cublasSetMatrix(1, n, size, x, dx, y, dy);
}
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
"""


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
        _BLAS_TYPES,
        "cublasStatus_t",
        *(" ".join(f"cublas{name}" for name in names.split()) for names in (_BLAS_DONE, _BLAS_MISSING)),
    )
    + _BLAS_CALLS
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

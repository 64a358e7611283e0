"""The header that stands for cuBLAS: it passes matrices by their addresses on the device, and scalars by value."""

from __future__ import annotations

TYPES = """
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

DONE = "Destroy SetStream SetMathMode SetPointerMode LtDestroy SetWorkspace SetAtomicsMode GetVersion"
MISSING = "SgemmBatched GemmBatchedEx Strsm Dtrsm Strmm Ssymm Ssyrk Srot LtMatmul"

CALLS = """
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

// Read before the text of a .cu file: CUDA's own headers, what of them only nvcc sees, and how kernels are launched.
#pragma once
#ifdef __cplusplus
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <initializer_list>
#include <memory>
#include <new>
#include <typeinfo>
#include <utility>

#include <cuda_runtime.h>

#undef __global__
#undef __device__
#undef __constant__
#undef __shared__
#undef __managed__
#undef __host__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __cluster_dims__
#define __global__
#define __device__
#define __constant__
#define __shared__
#define __managed__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)
#define __NVCC__ 1

namespace smemviz {

// Notes the shape of the launch that a call of a kernel is about to make.
void configure(const char *file, int line, dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);

// Makes a launch of the kernel in whose body `here` is declared.
void launch(const std::type_info &here, const void *const *arguments, const size_t *sizes, size_t count);

// What is left of a kernel on the host.
template <class... Arguments>
void kernel(const std::type_info &here, Arguments &...arguments) {
  const void *addresses[] = {std::addressof(arguments)..., nullptr};
  const size_t sizes[] = {sizeof(arguments)..., 0};
  launch(here, addresses, sizes, sizeof...(Arguments));
}

// Makes a variable of the device known by the address of its namesake here.
int declare(const char *name, void *host, size_t bytes, bool managed);

// Has NumPy do what a library's function does, and returns that library's status; numbers are values and addresses.
int64_t library(const char *name, std::initializer_list<double> numbers, double *result = nullptr);

}  // namespace smemviz

// What cuda_runtime.h has for nvcc alone.
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol((const void *)&symbol, from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(to, (const void *)&symbol, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = 0) {
  return ::cudaMemcpyToSymbol((const void *)&symbol, from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = 0) {
  return ::cudaMemcpyFromSymbol(to, (const void *)&symbol, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void **address, const T &symbol) {
  return ::cudaGetSymbolAddress(address, (const void *)&symbol);
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol) {
  return ::cudaGetSymbolSize(bytes, (const void *)&symbol);
}
template <class T>
inline cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute((const void *)kernel, attribute, value);
}
template <class T>
inline cudaError_t cudaFuncSetCacheConfig(T *, cudaFuncCache) {
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaFuncSetSharedMemConfig(T *, cudaSharedMemConfig) {
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *kernel) {
  return ::cudaFuncGetAttributes(attributes, (const void *)kernel);
}

// What nvcc's mathematics have that the host's library has not.
#define SMEMVIZ_ORDER(A, B, R)                                          \
  inline R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; }          \
  inline R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
#define SMEMVIZ_ORDERS(S, U) SMEMVIZ_ORDER(S, S, S) SMEMVIZ_ORDER(U, U, U) SMEMVIZ_ORDER(S, U, U) SMEMVIZ_ORDER(U, S, U)
SMEMVIZ_ORDERS(int, unsigned)
SMEMVIZ_ORDERS(long, unsigned long)
SMEMVIZ_ORDERS(long long, unsigned long long)
SMEMVIZ_ORDERS(float, double)
#undef SMEMVIZ_ORDERS
#undef SMEMVIZ_ORDER
inline double normcdf(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }
inline float normcdff(float x) { return (float)normcdf(x); }
inline double sinpi(double x) { return sin(fmod(x, 2) * M_PI); }
inline double cospi(double x) { return cos(fmod(x, 2) * M_PI); }
inline float sinpif(float x) { return (float)sinpi(x); }
inline float cospif(float x) { return (float)cospi(x); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }

// What CUDA 13 has no more, and most files were written for.
struct smemviz_properties : cudaDeviceProp {
  int clockRate, memoryClockRate, deviceOverlap, computeMode, kernelExecTimeoutEnabled, cooperativeMultiDeviceLaunch;
  int singleToDoublePrecisionPerfRatio, maxTexture1DLinear;
};
cudaError_t cudaGetDeviceProperties(smemviz_properties *properties, int device);
#define cudaDeviceProp smemviz_properties
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = 0) { return cudaSuccess; }
inline cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
#endif

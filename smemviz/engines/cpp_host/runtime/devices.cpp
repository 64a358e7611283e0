#undef cudaDeviceProp
// The one device there is, streams and events; nothing is under way when a call returns, and nothing takes time.
namespace smemviz {
namespace {

template <class Handle>
cudaError_t made(Handle *handle) {
  static uintptr_t number = 15;
  *handle = (Handle)(number += 16);
  return said();
}

const char *words_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidPitchValue: return "invalid pitch argument";
    case cudaErrorInvalidSymbol: return "invalid device symbol";
    case cudaErrorInvalidDevicePointer: return "invalid device pointer";
    case cudaErrorInvalidDeviceFunction: return "invalid device function";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorAssert: return "device-side assert triggered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
    default: return cudaGetErrorName(error);
  }
}

}  // namespace
}  // namespace smemviz

#define DOES_NOTHING(NAME, ...) cudaError_t NAME(__VA_ARGS__) { return said(); }

extern "C" {
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return made(stream); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return made(stream); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) { return made(stream); }
DOES_NOTHING(cudaStreamDestroy, cudaStream_t)
DOES_NOTHING(cudaStreamSynchronize, cudaStream_t)
DOES_NOTHING(cudaStreamQuery, cudaStream_t)
DOES_NOTHING(cudaStreamWaitEvent, cudaStream_t, cudaEvent_t, unsigned)
DOES_NOTHING(cudaStreamAttachMemAsync, cudaStream_t, void *, size_t, unsigned)
DOES_NOTHING(cudaStreamSetAttribute, cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue *)
DOES_NOTHING(cudaCtxResetPersistingL2Cache)
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) { return *status = cudaStreamCaptureStatusNone, said(); }
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t call, void *data) { return call(data), said(); }
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void *data, unsigned) { return call(stream, said(), data), said(); }
cudaError_t cudaEventCreate(cudaEvent_t *event) { return made(event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return made(event); }
DOES_NOTHING(cudaEventDestroy, cudaEvent_t)
DOES_NOTHING(cudaEventRecord, cudaEvent_t, cudaStream_t)
DOES_NOTHING(cudaEventRecordWithFlags, cudaEvent_t, cudaStream_t, unsigned)
DOES_NOTHING(cudaEventSynchronize, cudaEvent_t)
DOES_NOTHING(cudaEventQuery, cudaEvent_t)
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) { return *milliseconds = NAN, said(); }  // no clock runs here

DOES_NOTHING(cudaDeviceSynchronize)
DOES_NOTHING(cudaDeviceReset)
DOES_NOTHING(cudaInitDevice, int, unsigned, unsigned)
DOES_NOTHING(cudaSetDeviceFlags, unsigned)
DOES_NOTHING(cudaProfilerStart)
DOES_NOTHING(cudaProfilerStop)
DOES_NOTHING(cudaDeviceSetCacheConfig, cudaFuncCache)
DOES_NOTHING(cudaDeviceSetSharedMemConfig, cudaSharedMemConfig)
DOES_NOTHING(cudaDeviceSetLimit, cudaLimit, size_t)
DOES_NOTHING(cudaDeviceEnablePeerAccess, int, unsigned)
DOES_NOTHING(cudaDeviceDisablePeerAccess, int)
DOES_NOTHING(cudaStreamCopyAttributes, cudaStream_t, cudaStream_t)
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *how) { return *how = cudaSharedMemBankSizeFourByte, said(); }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *how) { return *how = cudaFuncCachePreferNone, said(); }
cudaError_t cudaGetDeviceFlags(unsigned *flags) { return *flags = 0, said(); }
cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned *flags) { return *flags = 0, said(); }
cudaError_t cudaStreamGetPriority(cudaStream_t, int *priority) { return *priority = 0, said(); }
cudaError_t cudaSetDevice(int device) { return said(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }
cudaError_t cudaGetDevice(int *device) { return *device = 0, said(); }
cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, said(); }
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *) { return *device = 0, said(); }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, said(); }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, said(); }
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) { return *can = 0, said(); }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { return *least = *greatest = 0, said(); }
cudaError_t cudaDeviceGetLimit(size_t *bytes, cudaLimit) { return *bytes = 0, said(); }

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *of, int device) {
  if (device) return said(cudaErrorInvalidDevice);
  memset(of, 0, sizeof *of);
  snprintf(of->name, sizeof of->name, "smemviz, compute capability %d.%d", SMEMVIZ_MAJOR, SMEMVIZ_MINOR);
  of->major = SMEMVIZ_MAJOR, of->minor = SMEMVIZ_MINOR, of->warpSize = 32;
  of->multiProcessorCount = SMEMVIZ_MULTIPROCESSORS;
  of->maxThreadsPerBlock = SMEMVIZ_THREADS, of->maxThreadsPerMultiProcessor = SMEMVIZ_RESIDENT_THREADS;
  of->maxBlocksPerMultiProcessor = SMEMVIZ_RESIDENT_BLOCKS;
  of->sharedMemPerBlock = SMEMVIZ_SHARED, of->sharedMemPerBlockOptin = SMEMVIZ_OPT_IN_SHARED;
  of->sharedMemPerMultiprocessor = SMEMVIZ_SHARED_IN_ALL, of->reservedSharedMemPerBlock = SMEMVIZ_RESERVED_SHARED;
  of->regsPerBlock = of->regsPerMultiprocessor = 65536, of->totalConstMem = 65536;
  of->totalGlobalMem = SMEMVIZ_MEMORY, of->l2CacheSize = 50 << 20, of->memoryBusWidth = SMEMVIZ_BUS_BITS;
  of->maxThreadsDim[0] = of->maxThreadsDim[1] = 1024, of->maxThreadsDim[2] = 64;
  of->maxGridSize[0] = 2147483647, of->maxGridSize[1] = of->maxGridSize[2] = 65535;
  of->unifiedAddressing = of->managedMemory = of->concurrentManagedAccess = of->canMapHostMemory = 1;
  of->concurrentKernels = of->cooperativeLaunch = of->asyncEngineCount = 1;
  of->persistingL2CacheMaxSize = of->l2CacheSize / 4 * 3;
  of->memPitch = 2147483647, of->textureAlignment = 512;
  return said();
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  struct cudaDeviceProp of;
  if (cudaError_t error = cudaGetDeviceProperties(&of, device)) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = of.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = of.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMultiProcessorCount: *value = of.multiProcessorCount; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = of.sharedMemPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = of.sharedMemPerBlockOptin; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = of.sharedMemPerMultiprocessor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = of.reservedSharedMemPerBlock; break;
    case cudaDevAttrTotalConstantMemory: *value = of.totalConstMem; break;
    case cudaDevAttrMaxRegistersPerBlock: case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = of.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = of.maxBlocksPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = of.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = of.minor; break;
    case cudaDevAttrClockRate: *value = SMEMVIZ_CLOCK_KHZ; break;
    case cudaDevAttrMemoryClockRate: *value = SMEMVIZ_MEMORY_CLOCK_KHZ; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = of.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = of.l2CacheSize; break;
    case cudaDevAttrCooperativeLaunch: case cudaDevAttrManagedMemory: case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrUnifiedAddressing: case cudaDevAttrConcurrentKernels: case cudaDevAttrCanMapHostMemory: *value = 1; break;
    default: *value = 0;
  }
  return said();
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error();
  last_error() = lasting_error();
  return error;
}
cudaError_t cudaPeekAtLastError() { return last_error(); }
const char *cudaGetErrorString(cudaError_t error) { return words_of(error); }
const char *cudaGetErrorName(cudaError_t error) {
  switch ((int)error) {
#define NAMED(NAME, NUMBER) case NUMBER: return #NAME;
#include "error_names.h"
#undef NAMED
    default: return "unrecognized error code";
  }
}
}

cudaError_t cudaGetDeviceProperties(smemviz_properties *properties, int device) {
  memset((void *)properties, 0, sizeof *properties);
  properties->clockRate = SMEMVIZ_CLOCK_KHZ, properties->memoryClockRate = SMEMVIZ_MEMORY_CLOCK_KHZ;
  properties->deviceOverlap = 1, properties->singleToDoublePrecisionPerfRatio = 2;
  return cudaGetDeviceProperties(static_cast<struct cudaDeviceProp *>(properties), device);
}

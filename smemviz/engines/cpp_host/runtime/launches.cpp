// Launches of kernels, and what may be asked of one.
#include <cxxabi.h>

#include <typeinfo>

namespace smemviz {
namespace {

struct Shape {
  const char *file = "";
  uint32_t line = 0;
  dim3 grid, block;
  uint64_t shared = 0;
  uint32_t cooperative = 0;
  uint32_t cluster[3] = {0, 0, 0};  // blocks along each axis, 0 where the launch does not say
};

thread_local Shape shape;
thread_local void **given = nullptr;         // the arguments of cudaLaunchKernel
thread_local std::string *asked = nullptr;   // where the name of a kernel goes that is called for it alone
std::map<std::string, uint32_t> &most_shared() {  // bytes of dynamic shared memory that a kernel was given leave for
  static std::map<std::string, uint32_t> all;
  return all;
}

// Returns the function that a type is local to, as C++ writes it, and the type's own name, each with its end.
std::string name_of(const std::type_info &here) {
  const char *mangled = here.name();
  int status = 0;
  char *readable = abi::__cxa_demangle(mangled + (*mangled == '*'), nullptr, nullptr, &status);
  std::string name = status ? mangled : readable;
  free(readable);
  return name.substr(0, name.rfind("::")) + '\0' + mangled + '\0';
}

std::string name_of(const void *kernel) {
  std::string name;
  asked = &name;
  ((void (*)())kernel)();
  asked = nullptr;
  return name;
}

const uint32_t none_given[3] = {0, 0, 0};

cudaError_t launch_through(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t bytes, bool cooperative,
                           const uint32_t *cluster = none_given) {
  if (!kernel) return said(cudaErrorInvalidDeviceFunction);
  static void *none[1] = {nullptr};
  shape = {shape.file, shape.line, grid, block, bytes, cooperative, {cluster[0], cluster[1], cluster[2]}};
  last_error() = cudaSuccess;
  given = arguments ? arguments : none;
  ((void (*)())kernel)();
  given = nullptr;
  return last_error();
}

}  // namespace

void configure(const char *file, int line, dim3 grid, dim3 block, size_t bytes, cudaStream_t) {
  shape = {file, (uint32_t)line, grid, block, bytes, 0};
}

void launch(const std::type_info &here, const void *const *arguments, const size_t *sizes, size_t count) {
  const std::string name = name_of(here);
  if (asked) {
    *asked = name;
    return;
  }
  std::lock_guard<std::recursive_mutex> alone(turn());
  managed(false);
  uint32_t numbers[13] = {shape.line, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z,
                          most_shared()[name], shape.cooperative, shape.cluster[0], shape.cluster[1], shape.cluster[2],
                          (uint32_t)count};
  std::string passed;
  for (size_t number = 0; number < count; number++) {
    const uint64_t size = sizes[number];
    passed.append((const char *)&size, 8).append((const char *)(given ? given[number] : arguments[number]), size);
  }
  const int64_t error = ask(LAUNCH, {{name.data(), name.size()}, text(shape.file), {numbers, sizeof numbers}, {&shape.shared, 8}, {passed.data(), passed.size()}});
  managed(true);
  if (error >= cudaErrorIllegalAddress) lasting_error() = (cudaError_t)error;
  said(error);
}

}  // namespace smemviz

extern "C" {
void smemviz_missing(const char *name) { missing(name); }
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t bytes, cudaStream_t) {
  return launch_through(kernel, grid, block, arguments, bytes, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t bytes, cudaStream_t) {
  return launch_through(kernel, grid, block, arguments, bytes, true);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *how, const void *kernel, void **arguments) {
  bool cooperative = false;
  uint32_t cluster[3] = {0, 0, 0};
  for (unsigned number = 0; number < how->numAttrs; number++) {
    const cudaLaunchAttribute &one = how->attrs[number];
    cooperative |= one.id == cudaLaunchAttributeCooperative && one.val.cooperative;
    if (one.id == cudaLaunchAttributeClusterDimension)
      cluster[0] = one.val.clusterDim.x, cluster[1] = one.val.clusterDim.y, cluster[2] = one.val.clusterDim.z;
  }
  return launch_through(kernel, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes, cooperative, cluster);
}
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return said();
  if (value < 0 || value > SMEMVIZ_OPT_IN_SHARED) return said(cudaErrorInvalidValue);
  most_shared()[name_of(kernel)] = value;
  return said();
}
cudaError_t cudaFuncSetCacheConfig(const void *, cudaFuncCache) { return said(); }
cudaError_t cudaFuncSetSharedMemConfig(const void *, cudaSharedMemConfig) { return said(); }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel) {
  const std::string name = name_of(kernel);
  memset(attributes, 0, sizeof *attributes);
  int64_t numbers[3] = {};
  ask(FUNCTION, {{name.data(), name.size()}}, numbers, sizeof numbers);
  attributes->sharedSizeBytes = numbers[0];
  attributes->constSizeBytes = numbers[1];
  attributes->localSizeBytes = numbers[2];
  attributes->maxThreadsPerBlock = SMEMVIZ_THREADS;
  attributes->maxDynamicSharedSizeBytes = most_shared()[name] ? most_shared()[name] : SMEMVIZ_SHARED - numbers[0];
  attributes->ptxVersion = attributes->binaryVersion = 10 * SMEMVIZ_MAJOR + SMEMVIZ_MINOR;
  return said();
}
// Registers are not known here, so that they limit nothing.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t bytes) {
  const std::string name = name_of(kernel);
  int64_t numbers[3] = {};
  ask(FUNCTION, {{name.data(), name.size()}}, numbers, sizeof numbers);
  const size_t taken = bytes + numbers[0] + SMEMVIZ_RESERVED_SHARED;
  const int by_threads = threads > 0 && threads <= SMEMVIZ_THREADS ? SMEMVIZ_RESIDENT_THREADS / ((threads + 31) / 32 * 32) : 0;
  const int by_shared = SMEMVIZ_SHARED_IN_ALL / taken;
  *blocks = by_threads < by_shared ? by_threads : by_shared;
  if (*blocks > SMEMVIZ_RESIDENT_BLOCKS) *blocks = SMEMVIZ_RESIDENT_BLOCKS;
  return said();
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads, size_t bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, bytes);
}
}

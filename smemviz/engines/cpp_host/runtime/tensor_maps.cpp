// Tensor maps, of which those of lockstep/ptx/tensor_maps.py are the same 128 bytes; and how a program asks for the function.
#include <cuda.h>

namespace smemviz {
namespace {

struct Map {
  uint64_t address;
  uint32_t mark;
  uint8_t kind, rank, swizzle, fill;
  uint64_t sizes[5], strides[4];
  uint16_t box[5];
  uint8_t steps[5], rest[25];
};
static_assert(sizeof(Map) == sizeof(CUtensorMap), "a tensor map has 128 bytes");

const uint32_t bytes_of_kinds[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

cudaError_t found(const char *symbol, void **function, cudaDriverEntryPointQueryResult *status) {
  const bool known = !strcmp(symbol, "cuTensorMapEncodeTiled");
  *function = known ? (void *)cuTensorMapEncodeTiled : nullptr;
  if (status) *status = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return said(known || status ? cudaSuccess : cudaErrorSymbolNotFound);
}

}  // namespace
}  // namespace smemviz

extern "C" {
// Refuses what the driver refuses: of rank, alignment, sizes and the width of a swizzle.
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType kind, cuuint32_t rank, void *address, const cuuint64_t *sizes,
                                const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  smemviz::Map made = {(uint64_t)address, 0x70614D74, (uint8_t)kind, (uint8_t)rank, (uint8_t)swizzle, (uint8_t)fill};
  if (!map || rank < 1 || rank > 5 || kind > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ || (uint64_t)address % 16) return CUDA_ERROR_INVALID_VALUE;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return CUDA_ERROR_NOT_SUPPORTED;
  const uint64_t inner = box[0] * smemviz::bytes_of_kinds[kind];
  if (inner % 16 || (swizzle && inner > 16u << swizzle)) return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t axis = 0; axis < rank; axis++) {
    if (!sizes[axis] || !box[axis] || box[axis] > 256 || !steps[axis] || steps[axis] > 8) return CUDA_ERROR_INVALID_VALUE;
    if (axis && strides[axis - 1] % 16) return CUDA_ERROR_INVALID_VALUE;
    made.sizes[axis] = sizes[axis], made.box[axis] = box[axis], made.steps[axis] = steps[axis];
    if (axis) made.strides[axis - 1] = strides[axis - 1];
  }
  memcpy(map, &made, sizeof made);
  return CUDA_SUCCESS;
}
#undef cudaGetDriverEntryPoint
#undef cudaGetDriverEntryPointByVersion
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long, cudaDriverEntryPointQueryResult *status) {
  return smemviz::found(symbol, function, status);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *status) {
  return smemviz::found(symbol, function, status);
}
}

// Memory of the device, which the host cannot look into, and memory that both see.
namespace smemviz {
namespace {

const uint64_t FIRST = 0x700000000000, AFTER_LAST = 0x780000000000;

struct Variable {
  const char *name;
  void *host;
  size_t bytes;
  bool managed;
};

std::vector<Variable> &variables() {
  static std::vector<Variable> all;
  return all;
}

std::map<uint64_t, size_t> &shared() {  // by address, what both see
  static std::map<uint64_t, size_t> all;
  return all;
}

bool of_device(const void *address) { return FIRST <= (uint64_t)address && (uint64_t)address < AFTER_LAST; }

bool is_shared(const void *address) {
  auto after = shared().upper_bound((uint64_t)address);
  return after != shared().begin() && (uint64_t)address < (--after)->first + after->second;
}

bool hidden(const void *address) { return of_device(address) && !is_shared(address); }

cudaError_t allocate(void **address, size_t bytes) {
  if (!address) return said(cudaErrorInvalidValue);
  *address = nullptr;
  if (!bytes) return said();
  *address = (void *)ask(ALLOCATE, {{&bytes, 8}});
  return said(*address ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t allocate_shared(void **address, size_t bytes, uint64_t of_host) {
  if (!address || !bytes) return said(cudaErrorInvalidValue);
  char path[4096];
  const int64_t at = ask(SHARE, {{&bytes, 8}, {&of_host, 8}}, path, sizeof path);
  const int file = at ? open(path, O_RDWR) : -1;
  *address = file < 0 ? nullptr : mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
  if (file >= 0) close(file);
  if (file < 0 || *address != (void *)at) return said(cudaErrorMemoryAllocation);
  std::lock_guard<std::recursive_mutex> alone(turn());
  shared()[at] = bytes;
  return said();
}

cudaError_t release(void *address) {
  if (!address) return said();
  std::lock_guard<std::recursive_mutex> alone(turn());
  auto seen = shared().find((uint64_t)address);
  if (seen != shared().end()) munmap(address, seen->second), shared().erase(seen);
  return said(ask(RELEASE, {{&address, 8}}));
}

cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  if (!bytes) return said();
  const bool into = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool out = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!to || !from || (into && !of_device(to)) || (out && !of_device(from))) return said(cudaErrorInvalidValue);
  if (kind == cudaMemcpyHostToHost && (hidden(to) || hidden(from))) return said(cudaErrorInvalidValue);
  if (hidden(to) && hidden(from)) return said(ask(COPY, {{&to, 8}, {&from, 8}, {&bytes, 8}}));
  if (hidden(to)) return said(ask(WRITE, {{&to, 8}, {from, bytes}}));
  if (hidden(from)) return said(ask(READ, {{&from, 8}, {&bytes, 8}}, to, bytes));
  memmove(to, from, bytes);
  return said();
}

cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return said(cudaErrorInvalidPitchValue);
  if (width == to_pitch && width == from_pitch) return copy(to, from, width * rows, kind);
  for (size_t row = 0; row < rows; row++)
    if (cudaError_t error = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind)) return error;
  return said();
}

cudaError_t fill(void *to, int value, size_t bytes) {
  if (!bytes) return said();
  if (!of_device(to)) return said(cudaErrorInvalidValue);
  const uint64_t byte = value & 255;
  return said(ask(FILL, {{&to, 8}, {&byte, 8}, {&bytes, 8}}));
}

// Returns the address on the device of what is declared here, null for anything else.
void *address_of(const void *symbol, size_t *bytes = nullptr) {
  for (const Variable &variable : variables())
    if (variable.host == symbol) {
      if (bytes) *bytes = variable.bytes;
      return (void *)ask(VARIABLE, {text(variable.name), {variable.host, variable.bytes}});
    }
  return nullptr;
}

}  // namespace

int declare(const char *name, void *host, size_t bytes, bool managed) {
  variables().push_back({name, host, bytes, managed});
  return 0;
}

// Brings managed variables to the device before a launch, and back after it.
void managed(bool back) {
  for (const Variable &variable : variables())
    if (variable.managed) {
      void *device = address_of(variable.host);
      back ? copy(variable.host, device, variable.bytes, cudaMemcpyDefault) : copy(device, variable.host, variable.bytes, cudaMemcpyDefault);
    }
}

int64_t library(const char *name, std::initializer_list<double> numbers, double *result) {
  double unused;
  return ask(LIBRARY, {text(name), {numbers.begin(), numbers.size() * sizeof(double)}}, result ? result : &unused, sizeof unused);
}

}  // namespace smemviz

using namespace smemviz;

extern "C" {
cudaError_t cudaMalloc(void **address, size_t bytes) { return allocate(address, bytes); }
cudaError_t cudaMallocAsync(void **address, size_t bytes, cudaStream_t) { return allocate(address, bytes); }
cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(address, *pitch * height);
}
cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned) { return allocate_shared(address, bytes, 0); }
cudaError_t cudaMallocHost(void **address, size_t bytes) { return allocate_shared(address, bytes, 1); }
cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned) { return allocate_shared(address, bytes, 1); }
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned) {
  *device = is_shared(host) ? host : nullptr;
  return said(*device ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaHostGetFlags(unsigned *flags, void *) { return *flags = 0, said(); }
cudaError_t cudaFree(void *address) { return release(address); }
cudaError_t cudaFreeAsync(void *address, cudaStream_t) { return release(address); }
cudaError_t cudaFreeHost(void *address) { return release(address); }
cudaError_t cudaHostRegister(void *, size_t, unsigned flags) { return flags & cudaHostRegisterMapped ? missing("cudaHostRegister"), cudaSuccess : said(); }
cudaError_t cudaHostUnregister(void *) { return said(); }
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) { return *free = *total = SMEMVIZ_MEMORY, said(); }

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) { return copy(to, from, bytes, kind); }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) { return copy(to, from, bytes, kind); }
cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes) { return copy(to, from, bytes, cudaMemcpyDeviceToDevice); }
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) { return fill(to, value, bytes); }
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) { return fill(to, value, bytes); }
cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++)
    if (cudaError_t error = fill((char *)to + row * pitch, value, width)) return error;
  return said();
}
cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t) {
  return cudaMemset2D(to, pitch, value, width, height);
}
cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t) { return copy(to, from, bytes, cudaMemcpyDeviceToDevice); }

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  char *to = (char *)address_of(symbol);
  return to ? copy(to + offset, from, bytes, kind) : said(cudaErrorInvalidSymbol);
}
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  const char *from = (const char *)address_of(symbol);
  return from ? copy(to, from + offset, bytes, kind) : said(cudaErrorInvalidSymbol);
}
cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
  *address = address_of(symbol);
  return said(*address ? cudaSuccess : cudaErrorInvalidSymbol);
}
cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol) { return said(address_of(symbol, bytes) ? cudaSuccess : cudaErrorInvalidSymbol); }
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *address) {
  memset(attributes, 0, sizeof *attributes);
  attributes->type = !of_device(address) ? cudaMemoryTypeUnregistered : is_shared(address) ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
  attributes->devicePointer = of_device(address) ? (void *)address : nullptr;
  attributes->hostPointer = hidden(address) ? nullptr : (void *)address;
  return said();
}
cudaError_t cudaMemPrefetchAsync(const void *, size_t, cudaMemLocation, unsigned, cudaStream_t) { return said(); }
cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, cudaMemLocation) { return said(); }
}

"""Vectors of Thrust for the host's compiler: those that hold memory, and nothing that would launch a kernel."""

VECTORS = """#pragma once
#include <cuda_runtime.h>
#include <iterator>
#include <vector>
namespace thrust {
template <class T> struct device_ptr {
  typedef T value_type;
  T *at;
  T *get() const { return at; }
  device_ptr operator+(ptrdiff_t n) const { return {at + n}; }
  ptrdiff_t operator-(device_ptr other) const { return at - other.at; }
};
template <class T> T *raw_pointer_cast(device_ptr<T> pointer) { return pointer.at; }
template <class T> T *raw_pointer_cast(T *pointer) { return pointer; }
template <class T> device_ptr<T> device_pointer_cast(T *pointer) { return {pointer}; }
template <class T> class device_vector;
template <class T> struct host_vector : std::vector<T> {
  using std::vector<T>::vector;
  host_vector() = default;
  host_vector(const device_vector<T> &from) : std::vector<T>(from.size()) { *this = from; }
  host_vector &operator=(const device_vector<T> &from) {
    this->resize(from.size());
    cudaMemcpy(this->data(), from.data().get(), sizeof(T) * from.size(), cudaMemcpyDeviceToHost);
    return *this;
  }
};
template <class T> class device_vector {
  device_ptr<T> start{};
  size_t count = 0;
  void take(const T *from, size_t n) {
    resize(n);
    cudaMemcpy(start.at, from, sizeof(T) * n, cudaMemcpyDefault);
  }

 public:
  typedef T value_type;
  device_vector() = default;
  explicit device_vector(size_t n, const T &value = T()) : device_vector(std::vector<T>(n, value)) {}
  device_vector(const std::vector<T> &from) { take(from.data(), from.size()); }
  device_vector(const device_vector &from) { take(from.start.at, from.count); }
  template <class I> device_vector(I first, I last) : device_vector(std::vector<T>(first, last)) {}
  device_vector &operator=(const std::vector<T> &from) { return take(from.data(), from.size()), *this; }
  device_vector &operator=(const device_vector &from) {
    if (this != &from) take(from.start.at, from.count);
    return *this;
  }
  ~device_vector() { cudaFree(start.at); }
  void resize(size_t n) {
    if (n == count) return;
    cudaFree(start.at);
    start.at = nullptr;
    if ((count = n)) cudaMalloc((void **)&start.at, sizeof(T) * n);
  }
  size_t size() const { return count; }
  bool empty() const { return !count; }
  device_ptr<T> data() const { return start; }
  device_ptr<T> begin() const { return start; }
  device_ptr<T> end() const { return start + count; }
  T operator[](size_t n) const {
    T value;
    cudaMemcpy(&value, start.at + n, sizeof(T), cudaMemcpyDeviceToHost);
    return value;
  }
};
template <class T> T *smemviz_at(device_ptr<T> place) { return place.at; }
template <class I> auto smemviz_at(I place) -> decltype(&*place) { return &*place; }
template <class I, class O> O copy(I first, I last, O to) {
  cudaMemcpy((void *)smemviz_at(to), smemviz_at(first), sizeof(*smemviz_at(first)) * (last - first), cudaMemcpyDefault);
  return to + (last - first);
}
}
"""

// The channel to smemviz, which holds the device: a request has a kind and bytes, its reply a number and bytes.
#pragma once
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fcntl.h>

#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace smemviz {

enum Request : uint32_t { ALLOCATE = 1, SHARE, RELEASE, WRITE, READ, COPY, FILL, LAUNCH, VARIABLE, FUNCTION, MISSING, LIBRARY };

struct Part {
  const void *bytes;
  size_t size;
};

inline int channel() {
  static const int number = atoi(getenv("SMEMVIZ_CHANNEL"));
  return number;
}

inline std::recursive_mutex &turn() {
  static std::recursive_mutex all;
  return all;
}

inline void pass(const void *bytes, size_t size) {
  for (const char *at = (const char *)bytes; size;) {
    const ssize_t done = write(channel(), at, size);
    if (done < 0 && errno == EFAULT) raise(SIGSEGV);  // the program gave a copy an address that it has not
    if (done < 0 && errno != EINTR) _exit(1);         // smemviz is gone
    if (done > 0) at += done, size -= done;
  }
}

inline void take(void *bytes, size_t size) {
  for (char *at = (char *)bytes; size;) {
    const ssize_t done = read(channel(), at, size);
    if (done < 0 && errno == EFAULT) raise(SIGSEGV);
    if (done == 0 || (done < 0 && errno != EINTR)) _exit(1);
    if (done > 0) at += done, size -= done;
  }
}

// Returns the number of the reply, whose bytes go where there is room.
inline int64_t ask(Request what, std::initializer_list<Part> parts, void *into = nullptr, size_t room = 0) {
  std::lock_guard<std::recursive_mutex> alone(turn());
  fflush(stdout);  // what is printed by the host stands before what is printed by a kernel
  uint64_t head[2] = {what, 0};
  for (const Part &part : parts) head[1] += part.size;
  pass(head, sizeof head);
  for (const Part &part : parts) pass(part.bytes, part.size);
  int64_t reply[2];
  take(reply, sizeof reply);
  if ((size_t)reply[1] > room) abort();
  take(into, reply[1]);
  return reply[0];
}

inline Part text(const char *words) { return {words, strlen(words) + 1}; }

// Ends the program: the device has no such thing.
[[noreturn]] inline void missing(const char *name) {
  ask(MISSING, {text(name)});
  _exit(1);
}

inline cudaError_t &last_error() {
  static cudaError_t error = cudaSuccess;
  return error;
}

// What a kernel did that no call succeeds after.
inline cudaError_t &lasting_error() {
  static cudaError_t error = cudaSuccess;
  return error;
}

inline cudaError_t said(int64_t number = 0) {
  const cudaError_t error = lasting_error() != cudaSuccess ? lasting_error() : (cudaError_t)number;
  if (error != cudaSuccess) last_error() = error;
  return error;
}

}  // namespace smemviz

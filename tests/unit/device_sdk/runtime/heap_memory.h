// The heap as a device's memory, for delegates of tests: it knows what is allocated, in which order it was released,
// and fails or throws where it is told to.
#pragma once

#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <vector>

#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie::test {

class HeapMemory final : public DeviceMemory {
 public:
  std::set<void*> allocated;
  std::vector<void*> released;  // in this order
  size_t allocations_max = SIZE_MAX;
  bool gives_null = false;         // instead of an error, behind allocations_max
  bool throws_on_release = false;  // behind each release

  Result<void*> allocate(uint64_t bytes) override {
    if (allocated.size() < allocations_max) return *allocated.insert(std::malloc(bytes)).first;
    if (gives_null) return nullptr;
    return Error(ErrorCode::too_large, "the test's device is full");
  }
  void release(void* buffer) override {
    if (allocated.erase(buffer) != 1) std::abort();  // it has never been given, or is released twice
    released.push_back(buffer);
    std::free(buffer);
    if (throws_on_release) throw std::runtime_error("the test's bad day");
  }
  Status write(void* to, const float* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status read(float* to, const void* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
};

}  // namespace coterie::test

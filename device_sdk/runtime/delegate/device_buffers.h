// DeviceBuffers: what a delegate's part has of its device's memory, and the copies between that and ours. Each buffer
// is released once, the last one first, also where a later one was refused, or where another's release has thrown.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// How often and how much was copied between our memory and a device's.
struct BorderCopies {
  uint64_t runs = 0;
  uint64_t copies = 0, bytes = 0;
};

// Not thread-safe. What the device's memory throws comes out of create(), write() and read(): callers fence them.
class DeviceBuffers {
 public:
  DeviceBuffers() = default;  // none
  // One of elements[i] floats each, where the delegate's domain is device; none where it is host. The delegate outlives
  // them. Errors: refused (it has no memory, or one that gives null), those of allocate().
  static Result<DeviceBuffers> create(Delegate& delegate, std::vector<uint64_t> elements);
  DeviceBuffers(DeviceBuffers&& other) noexcept;
  DeviceBuffers& operator=(DeviceBuffers&& other) noexcept;
  ~DeviceBuffers();

  bool empty() const { return pointers_.empty(); }
  std::span<void* const> pointers() const { return pointers_; }  // by elements
  // Buffer i from host[i], or into it, for each i in [first, end); every copy is counted. Errors: the memory's own.
  Status write(size_t first, size_t end, float* const* host, BorderCopies& copies);
  Status read(size_t first, size_t end, float* const* host, BorderCopies& copies);

 private:
  void release() noexcept;
  uint64_t count_copy(size_t i, BorderCopies& copies) const;  // its bytes

  DeviceMemory* memory_ = nullptr;  // null: there are none
  std::vector<uint64_t> elements_;
  std::vector<void*> pointers_;
};

}  // namespace coterie

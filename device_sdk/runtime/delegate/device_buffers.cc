#include "device_sdk/runtime/delegate/device_buffers.h"

#include <string>
#include <utility>

#include "device_sdk/runtime/delegate/fence.h"

namespace coterie {

Result<DeviceBuffers> DeviceBuffers::create(Delegate& delegate, std::vector<uint64_t> elements) {
  DeviceBuffers made;
  if (delegate.traits().domain == MemoryDomain::host) return made;
  made.memory_ = delegate.memory();
  if (made.memory_ == nullptr) return Error(ErrorCode::refused, "its domain is device, and it has no memory");
  made.elements_ = std::move(elements);
  made.pointers_.reserve(made.elements_.size());  // once it is allocated, nothing may fail before it is kept
  for (const uint64_t count : made.elements_) {
    COT_ASSIGN(void* const buffer, made.memory_->allocate(count * sizeof(float)));
    if (buffer == nullptr) {
      return Error(ErrorCode::refused,
                   "its memory gave no buffer of " + std::to_string(count * sizeof(float)) + " bytes");
    }
    made.pointers_.push_back(buffer);
  }
  return made;
}

DeviceBuffers::DeviceBuffers(DeviceBuffers&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      elements_(std::exchange(other.elements_, {})),
      pointers_(std::exchange(other.pointers_, {})) {}

DeviceBuffers& DeviceBuffers::operator=(DeviceBuffers&& other) noexcept {
  if (this == &other) return *this;
  release();
  memory_ = std::exchange(other.memory_, nullptr);
  elements_ = std::exchange(other.elements_, {});
  pointers_ = std::exchange(other.pointers_, {});
  return *this;
}

DeviceBuffers::~DeviceBuffers() { release(); }

void DeviceBuffers::release() noexcept {
  for (; !pointers_.empty(); pointers_.pop_back()) {
    const Status released = fenced([&]() -> Status {
      memory_->release(pointers_.back());
      return {};
    });
    (void)released;  // nobody is left to hear of it
  }
}

uint64_t DeviceBuffers::count_copy(size_t i, BorderCopies& copies) const {
  const uint64_t bytes = elements_[i] * sizeof(float);
  ++copies.copies;
  copies.bytes += bytes;
  return bytes;
}

Status DeviceBuffers::write(size_t first, size_t end, float* const* host, BorderCopies& copies) {
  for (size_t i = first; i < end; ++i) COT_TRY(memory_->write(pointers_[i], host[i], count_copy(i, copies)));
  return {};
}

Status DeviceBuffers::read(size_t first, size_t end, float* const* host, BorderCopies& copies) {
  for (size_t i = first; i < end; ++i) COT_TRY(memory_->read(host[i], pointers_[i], count_copy(i, copies)));
  return {};
}

}  // namespace coterie

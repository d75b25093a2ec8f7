// Memory in which a kernel cannot overstep unseen: it ends right before a page that may not be touched (one lane read
// or written too far is a crash) and begins behind floats that the test compares (one lane written too early is seen).
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/random.h"

namespace coterie::kernels::test {

template <typename T>
class GuardedBuffer {
 public:
  // `count` values, all NaN (0 for integers): a kernel that reads its output, or forgets to write some, shows.
  explicit GuardedBuffer(size_t count) : count_(count) {
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t usable = (count * sizeof(T) + kFenceBytes + page - 1) / page * page;
    mapped_ = usable + page;
    base_ = static_cast<uint8_t*>(::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    COT_ASSERT(base_ != MAP_FAILED && ::mprotect(base_ + usable, page, PROT_NONE) == 0);
    fence_bytes_ = usable - count * sizeof(T);
    std::memset(base_, kFence, fence_bytes_);
    data_ = reinterpret_cast<T*>(base_ + fence_bytes_);
    fill(std::numeric_limits<T>::quiet_NaN());
  }
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        mapped_(other.mapped_),
        fence_bytes_(other.fence_bytes_),
        count_(other.count_),
        data_(other.data_) {}
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() {
    if (base_ != nullptr) ::munmap(base_, mapped_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return count_; }
  std::span<T> span() { return {data_, count_}; }
  std::span<const T> span() const { return {data_, count_}; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

  void fill(T value) {
    for (T& x : span()) x = value;
  }
  bool is_intact() const {
    for (size_t i = 0; i < fence_bytes_; ++i) {
      if (base_[i] != kFence) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kFenceBytes = 256;
  static constexpr uint8_t kFence = 0xa5;

  uint8_t* base_ = nullptr;
  size_t mapped_ = 0, fence_bytes_ = 0, count_ = 0;
  T* data_ = nullptr;
};

}  // namespace coterie::kernels::test

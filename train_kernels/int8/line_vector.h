// A vector that begins where a cache line does: a load of 64 bytes that crosses from one line to the next takes as long
// as two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace coterie::kernels::int8 {

template <typename T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* from, size_t) { ::operator delete(from, kLine); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

template <typename T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace coterie::kernels::int8

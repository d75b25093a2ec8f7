// EventBytes: a fuzzer's input as a row of choices, for targets that drive a machine. Behind its end every choice is 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coterie::test {

class EventBytes {
 public:
  EventBytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool is_over() const { return at_ == size_; }
  uint8_t next() { return is_over() ? 0 : data_[at_++]; }
  // One byte's choice of `count` things; count is in [1, 256].
  uint32_t below(size_t count) { return static_cast<uint32_t>(next() % count); }
  bool one_in(size_t count) { return below(count) == count - 1; }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

}  // namespace coterie::test

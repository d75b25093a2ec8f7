// DealtFrames: a dealing as the bytes of a connection, made one frame at a time as they go.
#pragma once

#include <utility>
#include <variant>

#include "base/bytes.h"
#include "vertical/regression/dealing.h"
#include "vertical/regression/product_dealing.h"

namespace coterie::vertical {

class DealtFrames {
 public:
  using AnyDealing = std::variant<Dealing, ProductDealing>;
  explicit DealtFrames(AnyDealing dealing) : dealing_(std::move(dealing)) {}

  // What goes next; empty when all has gone. Makes the next frame if there is none, which takes some milliseconds.
  ByteView waiting();
  void sent(size_t bytes);  // of waiting()
  // After waiting() was empty.
  bool is_over() const { return is_over_; }

 private:
  AnyDealing dealing_;
  Bytes frame_;
  size_t gone_ = 0;
  uint64_t sequence_ = 0;
  bool is_over_ = false;
};

}  // namespace coterie::vertical

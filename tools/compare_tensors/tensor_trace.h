// What a network computed on some inputs, value by value, whatever the format of its file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

struct TracedTensor {
  std::string name;             // of the value
  std::string layer;            // of the op that makes it, spelt as in a model file; empty: it has no name
  std::string kind;             // of the op, as its format calls it
  std::vector<uint32_t> reads;  // traced values, all before this one; constants are not traced
  Shape shape = {};             // the batch included
  std::vector<float> values = {};
  bool has_numbers = false;  // false: a view of what it reads, or nothing that is compared
};

struct TensorTrace {
  std::vector<TracedTensor> tensors;  // the network's inputs first, then in the order in which they were made
  uint32_t inputs = 0;
  std::vector<uint32_t> outputs;  // of the network, in its order
};

constexpr uint64_t kTracedBytesMax = 1ull << 30;  // of the values of one trace; more is `too_large`

}  // namespace coterie

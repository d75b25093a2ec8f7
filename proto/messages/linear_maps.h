// The linear maps of a model: what optimizers of matrices move as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/messages/running_statistics.h"

namespace coterie {

// A parameter with two dimensions and more: its last dimension are the columns, all others together the rows, both at
// least 2. A table of which rows are looked up (embedding) is none.
struct LinearMap {
  ValueRange values;  // of the model's flat vector
  uint64_t rows = 0, columns = 0;
  friend bool operator==(const LinearMap&, const LinearMap&) = default;
};

// Rising. The graph's parameters lie apart, as decode_model sees to.
std::vector<LinearMap> linear_maps(const ModelGraph& graph);

}  // namespace coterie

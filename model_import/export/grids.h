// What of a model that computes in int8 its graph says with QuantizeLinear and DequantizeLinear.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/int8/int8_model.h"

namespace coterie::model_import {

// A stored tensor as integers on grids with zero 0: one grid a place on `axis`.
struct ExportIntegers {
  uint32_t axis = 0;
  std::vector<float> scales;
  std::vector<int32_t> values;  // in the tensor's order
  bool is_bias = false;         // int32, not int8
  friend bool operator==(const ExportIntegers&, const ExportIntegers&) = default;
};

struct ExportGrids {
  std::map<uint32_t, kernels::int8::Grid> values;  // by tensor: the input, and what layers write
  std::map<uint32_t, ExportIntegers> stored;       // by tensor: weights and biases
};

// Errors: invalid_argument, naming the op: two layers share weights or a bias that they hold as different integers.
Result<ExportGrids> export_grids(const Int8Model& model);

}  // namespace coterie::model_import

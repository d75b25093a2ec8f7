// The elements of a tensor while a TFLite file is computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model_import/tflite/tflite_model.h"

namespace coterie::model_import {

inline constexpr uint64_t kTfliteElementsMax = 1u << 26;  // of one tensor while it is computed: 512 MiB

struct TfliteArray {
  Shape shape;
  std::vector<double> reals;      // of a real type
  std::vector<int64_t> integers;  // of any other; as the file has them, on their grid where there is one
  size_t size() const { return reals.size() + integers.size(); }
};

// Errors: too_large, naming the tensor.
Result<size_t> elements_of(const TfliteTensor& tensor);
// Zeros, of the tensor's type and shape. Errors: too_large.
Result<TfliteArray> zeros_of(const TfliteTensor& tensor);
// Errors: too_large.
Result<TfliteArray> constant_of(const TfliteTensor& tensor);

// What the integers stand for: scale * (integer - zero), each factor as float32 has it, the product in double.
std::vector<double> real_numbers(const TfliteTensor& tensor, const TfliteArray& array);
// The nearest on the tensor's grid, ties away from zero, the last ones for what is beyond them. The tensor has one
// scale, above 0.
std::vector<int64_t> grid_numbers(const TfliteTensor& tensor, std::span<const double> reals);

struct IntegerRange {
  int64_t low, high;
};
IntegerRange range_of(TfliteType type);

}  // namespace coterie::model_import

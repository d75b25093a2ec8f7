// A file of weights as a table of tensors that belongs to no format: what each reader hands over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model_import/weights/weight_content.h"
#include "model_import/weights/weight_limits.h"
#include "proto/messages/model.h"

namespace coterie::model_import {

enum class WeightFormat : uint8_t { safetensors, npz, pytorch, mindspore };
std::string_view to_string(WeightFormat format);

enum class WeightType : uint8_t { float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, boolean };
std::string_view to_string(WeightType type);
size_t element_bytes(WeightType type);
bool is_real(WeightType type);

struct WeightTensor {
  std::string name;
  WeightType type = WeightType::float32;
  Shape shape = {};                   // empty: one number
  std::vector<int64_t> strides = {};  // in elements, one a dimension: a transposed tensor has those of what it is of
  uint64_t first_byte = 0;            // of the first element, in the content
  WeightContent content = {};
};

struct WeightTable {
  WeightFormat format = WeightFormat::safetensors;
  std::vector<WeightTensor> tensors;  // in the order of the file; no two of a name
  std::vector<std::string> notes;     // what a person should know: parts of the file that were left out
};

// Rows behind each other, the last dimension fastest; `columns_first`: the first one (Fortran's order).
std::vector<int64_t> plain_strides(const Shape& shape, bool columns_first = false);

// Whether shape, strides and content fit together, and all is within the limits; every reader's last word on a tensor.
// No element lies outside the content, and there are no more of them than the content holds: a tensor that repeats its
// elements (strides of 0) cannot be larger than the file. Errors: malformed, too_large.
Status check_tensor(const WeightTensor& tensor);
// Likewise the table: too many tensors, two of one name.
Status check_table(const WeightTable& table);
// Whether all of its tensors, which check_tensor() has passed, have at most so many elements together: for who is about
// to read them all, as an archive of a few MB may hold any number. too_large.
Status check_elements(const WeightTable& table, uint64_t elements_max);

// The elements in order, as float32: float16 and bfloat16 exactly, float64 rounded to nearest. Allocates in proportion
// to the shape and the content, so compare the shape with what is expected before. Errors: those of read_content;
// malformed: a value that is not finite (or is not once it is float32); invalid_argument: not floats.
Result<std::vector<float>> read_values(const WeightTensor& tensor);
// Likewise of any type, values that are not finite included: for those who look at what another program has computed.
Result<std::vector<float>> read_numbers(const WeightTensor& tensor);
// Whole numbers, of int64, int32, int16, int8, uint8 or boolean. malformed: one that does not fit 32 bits.
Result<std::vector<int32_t>> read_integers(const WeightTensor& tensor);

}  // namespace coterie::model_import

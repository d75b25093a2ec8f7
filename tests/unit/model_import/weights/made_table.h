// A table of weights that a test makes, tensor by tensor, as a reader would hand it over.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "model_import/weights/weight_table.h"

namespace coterie::test {

class MadeTable {
 public:
  explicit MadeTable(model_import::WeightFormat format) { table_.format = format; }

  MadeTable& add(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    Bytes& bytes = bytes_.emplace_back(values.size() * sizeof(float));
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    table_.tensors.push_back({.name = name,
                              .type = model_import::WeightType::float32,
                              .shape = shape,
                              .strides = model_import::plain_strides(shape),
                              .first_byte = 0,
                              .content = {.parts = {ByteView(bytes)}, .plain_bytes = bytes.size()}});
    return *this;
  }
  const model_import::WeightTable& table() const { return table_; }

 private:
  model_import::WeightTable table_;
  std::deque<Bytes> bytes_;  // which stay where they are
};

}  // namespace coterie::test

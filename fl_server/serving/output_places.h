// Where the outputs of rows lie in one array: the rows of the model's own output, then those of the next, and so on.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "fl_server/serving/model_interface.h"
#include "proto/messages/model_outputs.h"

namespace coterie {

// Elements of all outputs of one example.
inline uint64_t answer_elements(const ModelInterface& model) {
  uint64_t sum = 0;
  for (const TensorInterface& output : model.outputs) sum += output.elements;
  return sum;
}

// For each output the values of some rows. `Value`: float or const float.
template <typename Value>
class OutputPlaces {
 public:
  // `values` has `rows` rows of every output: those of `count` rows from `first` on.
  OutputPlaces(const ModelInterface& model, std::span<Value> values, uint64_t rows, uint64_t first, uint64_t count) {
    for (const TensorInterface& output : model.outputs) {
      places_[size_++] = values.subspan(first * output.elements, count * output.elements);
      values = values.subspan(rows * output.elements);
    }
  }
  // Those of all its rows.
  OutputPlaces(const ModelInterface& model, std::span<Value> values, uint64_t rows)
      : OutputPlaces(model, values, rows, 0, rows) {}

  std::span<const std::span<Value>> spans() const { return {places_.data(), size_}; }
  std::span<Value> operator[](size_t output) const { return places_[output]; }
  size_t size() const { return size_; }

 private:
  std::array<std::span<Value>, kModelOutputsMax> places_;
  size_t size_ = 0;
};

}  // namespace coterie

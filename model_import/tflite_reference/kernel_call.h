// One operator with its operands. Private to the reference.
#pragma once

#include <map>
#include <string>

#include "model_import/tflite_reference/array.h"

namespace coterie::model_import {

struct KernelCall {
  const TfliteModel& model;
  const TfliteOperator& op;
  const std::map<int32_t, TfliteArray>& values;

  bool has(size_t i) const { return op.has(i); }
  const TfliteTensor& tensor(size_t i) const { return model.tensor(op.inputs[i]); }
  const TfliteArray& operand(size_t i) const { return values.at(op.inputs[i]); }
  const TfliteTensor& output(size_t i = 0) const { return model.tensor(op.outputs[i]); }
  // Reals of an operand, whatever its type.
  std::vector<double> reals(size_t i) const { return real_numbers(tensor(i), operand(i)); }
};

using KernelOutputs = std::vector<TfliteArray>;  // one an output

inline Result<KernelOutputs> one_output(Result<TfliteArray> array) {
  if (!array) return array.error();
  KernelOutputs outputs;
  outputs.push_back(std::move(*array));
  return outputs;
}

// Whether the tensor's integers stand on a grid; small: of at most 16 bits, so that products and sums have room.
inline bool is_quantised(const TfliteTensor& tensor) {
  return !is_real(tensor.type) && tensor.type != TfliteType::int64 && tensor.grid.is_given();
}
inline bool is_small(const TfliteTensor& tensor) { return is_quantised(tensor) && width_of(tensor.type) <= 2; }

inline Error bad_form(const std::string& why) { return Error(ErrorCode::malformed, why); }

// Operators that move elements. An empty list: the operator is none.
Result<KernelOutputs> move_elements(const KernelCall& call);
// Operators with a definition in integers, where the output is on a grid.
Result<KernelOutputs> compute_integers(const KernelCall& call);
// All others: in doubles; integers on a grid are taken as the reals that they stand for, and the output is rounded to
// its grid by whoever calls.
Result<std::vector<double>> compute_reals(const KernelCall& call);

}  // namespace coterie::model_import

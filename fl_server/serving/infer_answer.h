// An answer of the Open Inference Protocol v2: rows of values to bytes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/serving/model_interface.h"

namespace coterie {

// One output: float32, int32 or bytes.
struct AnsweredTensor {
  const TensorInterface* tensor = nullptr;
  const TensorValues* values = nullptr;  // rows * tensor->elements
  bool is_binary = false;                // over REST: behind the JSON
};

struct InferAnswer {
  std::string_view model, version;
  std::string_view digest;             // of the version, hexadecimal: parameter "coterie_digest"
  std::optional<std::string_view> id;  // of the request
  uint64_t rows = 0;
  std::vector<AnsweredTensor> outputs;
};

// Those of `outputs` that are `wanted` (empty: all), with their `values`; binary where `as_binary` (empty: none)
// says so. What is referred to outlives the answer.
std::vector<AnsweredTensor> answered(const std::vector<TensorInterface>& outputs,
                                     const std::vector<TensorValues>& values, const std::vector<bool>& wanted,
                                     const std::vector<bool>& as_binary);

struct WrittenAnswer {
  Bytes body;
  std::optional<uint64_t> json_bytes;  // the value of Inference-Header-Content-Length; none: no output is binary
};
// Numbers in JSON are the shortest that read back as the same float. invalid_argument if one of them is NaN or
// infinite, which JSON has no word for.
Result<WrittenAnswer> write_answer(const InferAnswer& answer);

// The values of one output as binary data.
Bytes binary_values(const AnsweredTensor& output);

// {"error": "..."}
Bytes error_answer(std::string_view message);

}  // namespace coterie

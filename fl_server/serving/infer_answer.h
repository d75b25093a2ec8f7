// An answer of the Open Inference Protocol v2: rows of numbers to bytes. Pure.
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

struct InferAnswer {
  std::string_view model, version;
  std::string_view digest;             // of the version, hexadecimal: parameter "coterie_digest"
  std::optional<std::string_view> id;  // of the request
  const TensorInterface& output;
  uint64_t rows = 0;
  std::span<const float> values;  // rows * output.elements
};

// Numbers are the shortest that read back as the same float. invalid_argument if a value is NaN or infinite, which JSON
// has no word for.
Result<Bytes> json_answer(const InferAnswer& answer);

struct BinaryAnswer {
  Bytes body;
  uint64_t json_bytes = 0;  // the value of Inference-Header-Content-Length
};
BinaryAnswer binary_answer(const InferAnswer& answer);

// {"error": "..."}
Bytes error_answer(std::string_view message);

}  // namespace coterie

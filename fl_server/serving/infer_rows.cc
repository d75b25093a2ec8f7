#include "fl_server/serving/infer_rows.h"

#include <algorithm>

#include "base/json/json_scanner.h"

namespace coterie {
namespace {

constexpr size_t kNameBytesShown = 64;

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

}  // namespace

Status take_rows(const TensorInterface& input, std::span<const uint64_t> shape, const InferLimits& limits,
                 uint64_t& rows) {
  const bool fits = shape.size() == input.shape.size() + 1 &&
                    std::equal(input.shape.begin(), input.shape.end(), shape.begin() + 1,
                               [](int64_t a, uint64_t b) { return static_cast<uint64_t>(a) == b; });
  if (!fits || shape[0] == 0) {
    std::string seen;
    for (const uint64_t size : shape) seen += (seen.empty() ? "" : ",") + std::to_string(size);
    return wrong("shape is [" + seen + "], the model takes " + protocol_shape(input.shape) + ", at least one example");
  }
  if (shape[0] > limits.rows_max) {
    return Error(ErrorCode::too_large, "it has " + std::to_string(shape[0]) + " examples, a request at most " +
                                           std::to_string(limits.rows_max) + ": send several");
  }
  if (rows != 0 && rows != shape[0]) {
    return wrong("it has " + std::to_string(shape[0]) + " examples, the input before " + std::to_string(rows));
  }
  rows = shape[0];
  return {};
}

std::string shown_name(std::string_view name) {
  size_t bytes = std::min(name.size(), kNameBytesShown);
  while (bytes < name.size() && bytes > 0 && (static_cast<uint8_t>(name[bytes]) & 0xc0) == 0x80) --bytes;
  std::string text;
  append_json_string(text, name.substr(0, bytes));
  return text;
}

}  // namespace coterie

#include "fl_server/serving/infer_answer.h"

#include <charconv>
#include <cmath>

#include "base/json/json_scanner.h"

namespace coterie {
namespace {

constexpr size_t kFloatCharsMax = 16;  // "-1.17549435e-38"

// Up to the output's data.
std::string head_of(const InferAnswer& answer) {
  std::string text = "{\"model_name\":";
  append_json_string(text, answer.model);
  text += ",\"model_version\":";
  append_json_string(text, answer.version);
  if (answer.id) {
    text += ",\"id\":";
    append_json_string(text, *answer.id);
  }
  text += ",\"parameters\":{\"coterie_digest\":";
  append_json_string(text, answer.digest);
  text += "},\"outputs\":[{\"name\":";
  append_json_string(text, answer.output.name);
  text += ",\"datatype\":\"FP32\",\"shape\":";
  text += protocol_shape(answer.output.shape, static_cast<int64_t>(answer.rows));
  return text;
}

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

Result<Bytes> json_answer(const InferAnswer& answer) {
  std::string text = head_of(answer) + ",\"data\":[";
  const size_t head = text.size();
  text.resize(head + answer.values.size() * (kFloatCharsMax + 1));
  char* at = text.data() + head;
  for (const float value : answer.values) {
    if (!std::isfinite(value)) {
      return Error(ErrorCode::invalid_argument,
                   "the output has a value that is not finite, which JSON cannot hold: ask for it as binary data "
                   "(\"parameters\": {\"binary_data_output\": true})");
    }
    at = std::to_chars(at, at + kFloatCharsMax, value).ptr;
    *at++ = ',';
  }
  if (!answer.values.empty()) --at;
  text.resize(static_cast<size_t>(at - text.data()));
  text += "]}]}";
  return bytes_of(text);
}

BinaryAnswer binary_answer(const InferAnswer& answer) {
  const std::string json =
      head_of(answer) + ",\"parameters\":{\"binary_data_size\":" + std::to_string(answer.values.size_bytes()) + "}}]}";
  BinaryAnswer binary{bytes_of(json), json.size()};
  const auto* const values = reinterpret_cast<const uint8_t*>(answer.values.data());
  binary.body.insert(binary.body.end(), values, values + answer.values.size_bytes());
  return binary;
}

Bytes error_answer(std::string_view message) {
  std::string text = "{\"error\":";
  append_json_string(text, message);
  return bytes_of(text + "}");
}

}  // namespace coterie

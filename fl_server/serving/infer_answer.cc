#include "fl_server/serving/infer_answer.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "base/json/json_scanner.h"
#include "fl_server/serving/infer_rows.h"

namespace coterie {
namespace {

constexpr size_t kFloatCharsMax = 16;  // "-1.17549435e-38"; an int32 has fewer

// Up to the outputs.
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
  return text + "},\"outputs\":[";
}

// Up to an output's data.
void append_head(const AnsweredTensor& output, uint64_t rows, std::string& text) {
  if (text.back() == '}') text += ",";
  text += "{\"name\":";
  append_json_string(text, output.tensor->name);
  text += ",\"datatype\":\"" + std::string(protocol_name(output.tensor->type)) + "\",\"shape\":";
  text += protocol_shape(output.tensor->shape, static_cast<int64_t>(rows));
}

bool append_numbers(const AnsweredTensor& output, std::string& text) {
  const std::vector<float>& words = output.values->words;
  const size_t from = text.size();
  text.resize(from + words.size() * (kFloatCharsMax + 1));
  char* at = text.data() + from;
  const bool is_float = output.tensor->type == ProtocolType::float32;
  for (const float value : words) {
    if (is_float && !std::isfinite(value)) return false;
    at = is_float ? std::to_chars(at, at + kFloatCharsMax, value).ptr
                  : std::to_chars(at, at + kFloatCharsMax, std::bit_cast<int32_t>(value)).ptr;
    *at++ = ',';
  }
  if (!words.empty()) --at;
  text.resize(static_cast<size_t>(at - text.data()));
  return true;
}

void append_texts(const AnsweredTensor& output, std::string& text) {
  for (const std::string& one : output.values->texts) {
    if (text.back() != '[') text += ",";
    append_json_string(text, one);
  }
}

Error not_for_json(const AnsweredTensor& output) {
  return Error(ErrorCode::invalid_argument,
               "the output " + shown_name(output.tensor->name) +
                   " has a value that is not finite, which JSON cannot hold: ask for it as binary data "
                   "(\"parameters\": {\"binary_data_output\": true})");
}

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

std::vector<AnsweredTensor> answered(const std::vector<TensorInterface>& outputs,
                                     const std::vector<TensorValues>& values, const std::vector<bool>& wanted,
                                     const std::vector<bool>& as_binary) {
  std::vector<AnsweredTensor> all;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (wanted.empty() || wanted[i]) all.push_back({&outputs[i], &values[i], !as_binary.empty() && as_binary[i]});
  }
  return all;
}

Bytes binary_values(const AnsweredTensor& output) {
  Bytes bytes;
  append_strings(output.values->texts, bytes);
  const auto* const words = reinterpret_cast<const uint8_t*>(output.values->words.data());
  bytes.insert(bytes.end(), words, words + output.values->words.size() * sizeof(float));
  return bytes;
}

Result<WrittenAnswer> write_answer(const InferAnswer& answer) {
  std::string json = head_of(answer);
  Bytes data;
  bool is_any_binary = false;
  for (const AnsweredTensor& output : answer.outputs) {
    append_head(output, answer.rows, json);
    if (output.is_binary) {
      const Bytes values = binary_values(output);
      json += ",\"parameters\":{\"binary_data_size\":" + std::to_string(values.size()) + "}}";
      data.insert(data.end(), values.begin(), values.end());
      is_any_binary = true;
      continue;
    }
    json += ",\"data\":[";
    if (output.tensor->type == ProtocolType::bytes) append_texts(output, json);
    else if (!append_numbers(output, json)) return not_for_json(output);
    json += "]}";
  }
  json += "]}";
  WrittenAnswer written{.body = bytes_of(json), .json_bytes = {}};
  if (is_any_binary) written.json_bytes = json.size();
  written.body.insert(written.body.end(), data.begin(), data.end());
  return written;
}

Bytes error_answer(std::string_view message) {
  std::string text = "{\"error\":";
  append_json_string(text, message);
  return bytes_of(text + "}");
}

}  // namespace coterie

// What a stranger's body becomes: an error, or rows that fit the model and are the same however they are written again.
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "base/json/json_scanner.h"
#include "fl_server/serving/infer_answer.h"
#include "fl_server/serving/infer_request.h"

namespace {

using namespace coterie;

const ClientInterface kModel{.inputs = {{"x", ProtocolType::float32, {2, 2}, 4}, {"ids", ProtocolType::int32, {1}, 1}},
                             .outputs = {{"y", ProtocolType::float32, {3}, 3}, {"z", ProtocolType::int32, {}, 1}}};
const InferLimits kLimits{.rows_max = 16};

// Flat, as JSON. Values that JSON has no word for are left as they are: false.
bool append_data(std::string& text, const std::vector<float>& values, ProtocolType type) {
  for (const float value : values) {
    char digits[32];
    int32_t whole = 0;
    std::memcpy(&whole, &value, sizeof(whole));
    if (type == ProtocolType::float32 && !std::isfinite(value)) return false;
    const auto end = type == ProtocolType::float32 ? std::to_chars(digits, digits + sizeof(digits), value)
                                                   : std::to_chars(digits, digits + sizeof(digits), whole);
    text += (text.back() == '[' ? "" : ",") + std::string(digits, end.ptr);
  }
  return true;
}

void check(const InferRequest& request) {
  COT_ASSERT(request.rows >= 1 && request.rows <= kLimits.rows_max && request.inputs.size() == kModel.inputs.size());
  for (const std::vector<bool>* const of_outputs : {&request.wanted, &request.as_binary})
    COT_ASSERT(of_outputs->empty() || of_outputs->size() == kModel.outputs.size());
  std::string text = "{\"inputs\":[";
  for (size_t i = 0; i < kModel.inputs.size(); ++i) {
    const TensorInterface& input = kModel.inputs[i];
    COT_ASSERT(request.inputs[i].words.size() == request.rows * input.elements);
    text += (i == 0 ? "{\"name\":" : ",{\"name\":");
    append_json_string(text, input.name);
    text += ",\"shape\":" + protocol_shape(input.shape, static_cast<int64_t>(request.rows)) + ",\"datatype\":\"" +
            std::string(protocol_name(input.type)) + "\",\"data\":[";
    if (!append_data(text, request.inputs[i].words, input.type)) return;
    text += "]}";
  }
  text += "]";
  if (request.id) {
    text += ",\"id\":";
    append_json_string(text, *request.id);
  }
  text += "}";
  const Result<InferRequest> again = parse_infer_request(as_bytes(text), {}, kModel, kLimits);
  COT_ASSERT(again.has_value());
  COT_ASSERT(again->rows == request.rows && again->id == request.id);
  for (size_t i = 0; i < kModel.inputs.size(); ++i) {
    const std::vector<float>&words = request.inputs[i].words, &read = again->inputs[i].words;
    COT_ASSERT(std::memcmp(read.data(), words.data(), words.size() * sizeof(float)) == 0);
  }
}

void check_error(const Error& error) {
  // It goes back as JSON, so it must be readable as such.
  const Bytes answer = error_answer(error.message());
  JsonScanner json(as_text(answer));
  std::string_view seen;
  COT_ASSERT(json.skip(seen) && json.end());
}

}  // namespace

// The first byte says how many bytes of binary data lie behind the JSON; 255: there is no header for them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView body(data + 1, size - 1);
  std::optional<uint64_t> json_bytes;
  if (data[0] != 255) json_bytes = body.size() - std::min<size_t>(body.size(), data[0]);
  const Result<InferRequest> request = parse_infer_request(body, json_bytes, kModel, kLimits);
  if (request) check(*request);
  else check_error(request.error());
  return 0;
}

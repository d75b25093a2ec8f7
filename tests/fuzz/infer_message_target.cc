// What a stranger's bytes become over gRPC: an error, or rows that fit the model and are the same in either form of a
// message.
#include <bit>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "fl_server/serving/grpc/infer_message.h"

namespace {

using namespace coterie;

const ClientInterface kModel{.inputs = {{"x", ProtocolType::float32, {2, 2}, 4}, {"ids", ProtocolType::int32, {1}, 1}},
                             .outputs = {{"y", ProtocolType::float32, {3}, 3}, {"z", ProtocolType::int32, {}, 1}}};
const InferLimits kLimits{.rows_max = 16};

std::string message_of(const InferRequest& request, bool is_raw) {
  inference::ModelInferRequest message;
  if (request.id) message.set_id(*request.id);
  for (size_t i = 0; i < kModel.inputs.size(); ++i) {
    const TensorInterface& input = kModel.inputs[i];
    const std::vector<float>& words = request.inputs[i].words;
    auto& tensor = *message.add_inputs();
    tensor.set_name(input.name);
    tensor.set_datatype(std::string(protocol_name(input.type)));
    tensor.add_shape(static_cast<int64_t>(request.rows));
    for (const int64_t size : input.shape) tensor.add_shape(size);
    if (is_raw) {
      message.add_raw_input_contents(words.data(), words.size() * sizeof(float));
      continue;
    }
    for (const float word : words) {
      if (input.type == ProtocolType::float32) tensor.mutable_contents()->add_fp32_contents(word);
      else tensor.mutable_contents()->add_int_contents(std::bit_cast<int32_t>(word));
    }
  }
  return message.SerializeAsString();
}

Result<InferRequest> read(ByteView bytes) {
  const Result<inference::ModelInferRequest> message = decode_infer_message(bytes);
  if (!message) return message.error();
  return read_infer_message(*message, kModel, kLimits);
}

void check(const InferRequest& request) {
  COT_ASSERT(request.rows >= 1 && request.rows <= kLimits.rows_max && request.inputs.size() == kModel.inputs.size());
  for (const std::vector<bool>* const of_outputs : {&request.wanted, &request.as_binary})
    COT_ASSERT(of_outputs->empty() || of_outputs->size() == kModel.outputs.size());
  for (const bool is_raw : {false, true}) {
    const Result<InferRequest> again = read(as_bytes(message_of(request, is_raw)));
    COT_ASSERT(again.has_value());
    COT_ASSERT(again->rows == request.rows && again->id == request.id && again->as_binary.empty() != is_raw);
    for (size_t i = 0; i < kModel.inputs.size(); ++i) {
      const std::vector<float>&words = request.inputs[i].words, &read = again->inputs[i].words;
      COT_ASSERT(words.size() == request.rows * kModel.inputs[i].elements && read.size() == words.size());
      COT_ASSERT(std::memcmp(read.data(), words.data(), words.size() * sizeof(float)) == 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<InferRequest> request = read(ByteView(data, size));
  if (request) check(*request);
  else COT_ASSERT(!request.error().message().empty());
  return 0;
}

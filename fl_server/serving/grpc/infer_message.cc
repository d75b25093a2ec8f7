#include "fl_server/serving/grpc/infer_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>

namespace coterie {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using inference::ModelInferRequest;
using Input = ModelInferRequest::InferInputTensor;

constexpr const char* kShapeTooLong = "a shape has at most 16 dimensions";
static_assert(kShapeRankMax == 16);

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// Counts fields without keeping anything.
class FieldCount {
 public:
  explicit FieldCount(CodedInputStream& in) : in_(in) {}

  bool count() { return count_within(kRequest); }
  bool has_too_many() const { return fields_ > kInferFieldsMax; }
  // What a few bytes would become much memory by, in words; null: nothing.
  const char* refused() const { return refused_; }

 private:
  static constexpr int kRequest = 0;  // no field has this number
  static constexpr int kOther = -1, kContents = -2;
  static constexpr uint32_t kVarintBytesMax = 10;

  // `part`: the field of the request that is read; kRequest, an input's contents: kContents, or what else is below such
  // a field: kOther.
  bool count_within(int part) {
    for (;;) {
      const uint32_t tag = in_.ReadTag();
      if (tag == 0) return in_.ConsumedEntireMessage();
      if (++fields_ > kInferFieldsMax) return false;
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
        if (!WireFormatLite::SkipField(&in_, tag)) return false;
        continue;
      }
      uint32_t bytes = 0;
      if (!in_.ReadVarint32(&bytes) || bytes > INT32_MAX || grows(number, part, bytes)) return false;
      if (!has_fields(number, part)) {
        if (!in_.Skip(static_cast<int>(bytes))) return false;
        continue;
      }
      const auto limit = in_.PushLimit(static_cast<int>(bytes));
      const bool is_contents = part == ModelInferRequest::kInputsFieldNumber && number == Input::kContentsFieldNumber;
      if (!count_within(part == kRequest ? number : is_contents ? kContents : kOther)) return false;
      in_.PopLimit(limit);
    }
  }
  // Packed numbers are one field, and each of their bytes may be a number of eight.
  bool grows(int number, int part, uint32_t bytes) {
    using Contents = inference::InferTensorContents;
    if (part == ModelInferRequest::kInputsFieldNumber && number == Input::kShapeFieldNumber &&
        bytes > kShapeRankMax * kVarintBytesMax) {
      refused_ = kShapeTooLong;
    }
    if (part == kContents && number != Contents::kFp32ContentsFieldNumber &&
        number != Contents::kIntContentsFieldNumber && number != Contents::kUintContentsFieldNumber &&
        number != Contents::kFp64ContentsFieldNumber && number != Contents::kBytesContentsFieldNumber) {
      refused_ =
          "models take fp32_contents, int_contents, uint_contents, fp64_contents, bytes_contents or "
          "raw_input_contents";
    }
    return refused_ != nullptr;
  }
  // Whether this field has fields of its own.
  static bool has_fields(int number, int part) {
    switch (part) {
      case kRequest:
        return number == ModelInferRequest::kParametersFieldNumber || number == ModelInferRequest::kInputsFieldNumber ||
               number == ModelInferRequest::kOutputsFieldNumber;
      case ModelInferRequest::kInputsFieldNumber:
        return number == Input::kParametersFieldNumber || number == Input::kContentsFieldNumber;
      case ModelInferRequest::kOutputsFieldNumber:
        return number == ModelInferRequest::InferRequestedOutputTensor::kParametersFieldNumber;
      default: return false;
    }
  }

  CodedInputStream& in_;
  uint32_t fields_ = 0;
  const char* refused_ = nullptr;
};

struct Contents {
  const char* name;
  int count;
};
// The field for the input's type.
Contents contents_of(ProtocolType type, const inference::InferTensorContents& contents) {
  switch (type) {
    case ProtocolType::float32: return {"fp32_contents", contents.fp32_contents_size()};
    case ProtocolType::int32: return {"int_contents", contents.int_contents_size()};
    case ProtocolType::float64: return {"fp64_contents", contents.fp64_contents_size()};
    case ProtocolType::uint8: return {"uint_contents", contents.uint_contents_size()};
    case ProtocolType::bytes: return {"bytes_contents", contents.bytes_contents_size()};
  }
  return {"", 0};
}

// Takes the field for the input's type; all others have to be empty.
Status take_contents(const TensorInterface& input, uint64_t rows, const inference::InferTensorContents& contents,
                     TensorValues& values) {
  const Contents given = contents_of(input.type, contents);
  const uint64_t expected = rows * elements_of(values.shape);
  if (static_cast<uint64_t>(given.count) != expected) {
    return wrong(std::string(given.name) + " has " + std::to_string(given.count) + " values, its shape has " +
                 std::to_string(expected));
  }
  const auto bytes_of = [](const auto& field) {
    return ByteView(reinterpret_cast<const uint8_t*>(field.data()),
                    static_cast<size_t>(field.size()) * sizeof(*field.data()));
  };
  switch (input.type) {
    case ProtocolType::float32:
      return take_binary_values(input.type, bytes_of(contents.fp32_contents()), expected, values);
    case ProtocolType::int32:
      return take_binary_values(input.type, bytes_of(contents.int_contents()), expected, values);
    case ProtocolType::float64:
      return take_binary_values(input.type, bytes_of(contents.fp64_contents()), expected, values);
    case ProtocolType::bytes:
      values.texts.assign(contents.bytes_contents().begin(), contents.bytes_contents().end());
      return {};
    case ProtocolType::uint8: break;
  }
  if (std::ranges::any_of(contents.uint_contents(), [](uint32_t value) { return value > UINT8_MAX; }))
    return wrong("uint_contents has a value above 255, which is no UINT8");
  values.pixels.assign(contents.uint_contents().begin(), contents.uint_contents().end());
  return {};
}

Status take_raw(const TensorInterface& input, uint64_t rows, std::string_view raw, TensorValues& values) {
  const uint64_t count = rows * elements_of(values.shape), expected = count * element_bytes(input.type);
  if (input.type != ProtocolType::bytes && raw.size() != expected) {
    return wrong("its raw_input_contents has " + std::to_string(raw.size()) + " bytes, its shape has " +
                 std::to_string(expected));
  }
  return take_binary_values(input.type, as_bytes(raw), count, values);
}

Result<size_t> place_of(const ModelInferRequest::InferInputTensor& tensor, const ClientInterface& model) {
  const auto found = std::ranges::find(model.inputs, tensor.name(), &TensorInterface::name);
  if (found == model.inputs.end()) {
    return wrong("the model has no such input; it takes " + shown_names(model.inputs));
  }
  if (tensor.datatype() != protocol_name(found->type)) {
    return wrong("datatype is " + shown_name(tensor.datatype()) + ", the model takes " +
                 std::string(protocol_name(found->type)));
  }
  return static_cast<size_t>(found - model.inputs.begin());
}

Status take_input(const ModelInferRequest& message, int at, const ClientInterface& model, const InferLimits& limits,
                  InferRequest& request, std::vector<bool>& given) {
  const ModelInferRequest::InferInputTensor& tensor = message.inputs(at);
  COT_ASSIGN(const size_t place, place_of(tensor, model));
  if (given[place]) return wrong("it is given twice");
  given[place] = true;
  const TensorInterface& input = model.inputs[place];
  if (tensor.shape_size() > static_cast<int>(kShapeRankMax)) return wrong(kShapeTooLong);
  if (std::ranges::any_of(tensor.shape(), [](int64_t size) { return size < 0; }))
    return wrong("its shape has a size below 0; the model takes " + protocol_shape(input.shape));
  const std::vector<uint64_t> shape(tensor.shape().begin(), tensor.shape().end());
  COT_ASSIGN(request.inputs[place].shape, take_rows(input, shape, limits, request.rows));
  const bool is_raw = message.raw_input_contents_size() > 0;
  if (!is_raw) return take_contents(input, request.rows, tensor.contents(), request.inputs[place]);
  if (tensor.has_contents()) return wrong("it has contents beside raw_input_contents: one of them");
  return take_raw(input, request.rows, message.raw_input_contents(at), request.inputs[place]);
}

Status take_parameters(const ModelInferRequest& message, InferRequest& request) {
  const auto timeout = message.parameters().find("timeout");
  if (timeout == message.parameters().end()) return {};
  const inference::InferParameter& value = timeout->second;
  if (value.has_uint64_param()) {
    request.timeout_us = value.uint64_param();
    return {};
  }
  if (!value.has_int64_param() || value.int64_param() < 0)
    return wrong("the parameter timeout is an int64_param or uint64_param of microseconds, at least 0");
  request.timeout_us = static_cast<uint64_t>(value.int64_param());
  return {};
}

}  // namespace

Result<ModelInferRequest> decode_infer_message(ByteView bytes) {
  const Error malformed(ErrorCode::malformed, "the bytes are no ModelInferRequest");
  if (bytes.size() > INT32_MAX) return malformed;
  const int size = static_cast<int>(bytes.size());
  CodedInputStream in(bytes.data(), size);
  FieldCount fields(in);
  const bool is_good = fields.count();
  if (fields.has_too_many()) {
    return Error(ErrorCode::too_large, "a request has at most " + std::to_string(kInferFieldsMax) +
                                           " fields: send values packed, or as raw_input_contents");
  }
  if (fields.refused() != nullptr) return wrong(fields.refused());
  ModelInferRequest message;
  if (!is_good || !message.ParseFromArray(bytes.data(), size)) return malformed;
  return message;
}

Result<InferRequest> read_infer_message(const ModelInferRequest& message, const ClientInterface& model,
                                        const InferLimits& limits) {
  InferRequest request;
  if (!message.id().empty()) request.id = message.id();
  if (message.id().size() > kInferIdBytesMax) {
    return Error(ErrorCode::too_large, "id has more than " + std::to_string(kInferIdBytesMax) + " bytes");
  }
  COT_TRY(take_parameters(message, request));
  for (const auto& output : message.outputs()) {
    const auto found = std::ranges::find(model.outputs, output.name(), &TensorInterface::name);
    if (found == model.outputs.end()) {
      return wrong("output " + shown_name(output.name()) + ": the model has " + shown_names(model.outputs) + " alone");
    }
    const auto place = static_cast<size_t>(found - model.outputs.begin());
    request.wanted.resize(model.outputs.size());
    if (request.wanted[place]) return wrong("output " + shown_name(output.name()) + ": it is asked for twice");
    request.wanted[place] = true;
    if (output.parameters().contains("classification"))
      return wrong("output " + shown_name(output.name()) + ": the classification extension is not offered");
  }
  const bool is_raw = message.raw_input_contents_size() > 0;
  if (is_raw) request.as_binary.assign(model.outputs.size(), true);
  if (is_raw && message.raw_input_contents_size() != message.inputs_size()) {
    return wrong("there are " + std::to_string(message.raw_input_contents_size()) + " raw_input_contents for " +
                 std::to_string(message.inputs_size()) + " inputs");
  }
  request.inputs.resize(model.inputs.size());
  std::vector<bool> given(model.inputs.size());
  for (int i = 0; i < message.inputs_size(); ++i) {
    const Status taken = take_input(message, i, model, limits, request, given);
    if (!taken) return taken.error().with_context("input " + shown_name(message.inputs(i).name()));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) return wrong("input " + shown_name(model.inputs[i].name) + " is missing");
  }
  return request;
}

inference::ModelInferResponse infer_message(const InferAnswer& answer, bool is_raw) {
  inference::ModelInferResponse message;
  message.set_model_name(std::string(answer.model));
  message.set_model_version(std::string(answer.version));
  if (answer.id) message.set_id(std::string(*answer.id));
  (*message.mutable_parameters())["coterie_digest"].set_string_param(std::string(answer.digest));
  for (const AnsweredTensor& answered : answer.outputs) {
    auto& output = *message.add_outputs();
    output.set_name(answered.tensor->name);
    output.set_datatype(std::string(protocol_name(answered.tensor->type)));
    output.add_shape(static_cast<int64_t>(answer.rows));
    for (const int64_t size : answered.tensor->shape) output.add_shape(size);
    if (is_raw) {
      const Bytes values = binary_values(answered);
      message.add_raw_output_contents(values.data(), values.size());
      continue;
    }
    auto& contents = *output.mutable_contents();
    for (const float word : answered.values->words) {
      if (answered.tensor->type == ProtocolType::float32) contents.add_fp32_contents(word);
      else contents.add_int_contents(std::bit_cast<int32_t>(word));
    }
    for (const std::string& text : answered.values->texts) contents.add_bytes_contents(text);
  }
  return message;
}

}  // namespace coterie

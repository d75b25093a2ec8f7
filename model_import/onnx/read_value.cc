#include <onnx_value.pb.h>

#include "model_import/onnx/read_onnx.h"
#include "model_import/onnx/read_proto.h"

namespace coterie::model_import {
namespace {

using ::onnx::TensorProto;
using onnx_value::Value;

enum ElementType : int32_t { kNothing = 0, kTensor = 1, kSequence = 3, kOptional = 5 };  // SequenceProto.DataType

Result<HostValue> read_texts(const TensorProto& proto) {
  HostValue value{.form = Form::text, .tensor = {}, .texts = {}, .items = {}};
  COT_ASSIGN(const uint64_t count, count_of(proto, value.tensor.shape));
  if (static_cast<uint64_t>(proto.string_data_size()) != count)
    return Error(ErrorCode::malformed, "does not hold the " + std::to_string(count) + " texts of its shape");
  value.texts.assign(proto.string_data().begin(), proto.string_data().end());
  return value;
}

Result<HostValue> tensor_value(const TensorProto& proto) {
  if (proto.data_type() == TensorProto::STRING) return read_texts(proto);
  HostValue value;
  COT_ASSIGN(value.tensor, read_tensor(proto));
  return value;
}

Result<HostValue> holder(const Value& proto, Form form) {
  HostValue value{.form = form, .tensor = {}, .texts = {}, .items = {}};
  const auto add = [&](Result<HostValue> item) -> Status {
    if (!item) return item.error().with_context("item " + std::to_string(value.items.size()));
    value.items.push_back(std::move(*item));
    return {};
  };
  switch (proto.elem_type()) {
    case kNothing: break;
    case kTensor:
      for (const TensorProto& item : proto.tensors()) COT_TRY(add(tensor_value(item)));
      break;
    case kSequence:
      for (const Value& item : proto.sequences()) COT_TRY(add(holder(item, Form::sequence)));
      break;
    case kOptional:
      for (const Value& item : proto.optionals()) COT_TRY(add(holder(item, Form::optional)));
      break;
    default: return Error(ErrorCode::invalid_argument, "holds sparse tensors or maps, which are not read");
  }
  if (form == Form::optional && value.items.size() > 1)
    return Error(ErrorCode::malformed, "is optional and holds several values");
  return value;
}

}  // namespace

Result<HostTensor> read_onnx_tensor(ByteView file) {
  TensorProto proto;
  COT_TRY(parse(file, proto, "an ONNX tensor"));
  return read_tensor(proto);
}

Result<HostValue> read_onnx_value(ByteView file, Form form) {
  if (form == Form::sequence || form == Form::optional) {
    Value proto;
    COT_TRY(parse(file, proto, form == Form::sequence ? "an ONNX sequence" : "an ONNX optional value"));
    return holder(proto, form);
  }
  TensorProto proto;
  COT_TRY(parse(file, proto, "an ONNX tensor"));
  return tensor_value(proto);
}

}  // namespace coterie::model_import

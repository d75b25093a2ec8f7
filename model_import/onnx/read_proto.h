// What the readers of ONNX's files have in common: messages of protobuf, and the tensors in them.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <onnx.pb.h>

#include <optional>
#include <string>

#include "base/bytes.h"
#include "model_import/graph/graph.h"
#include "model_import/onnx/read_onnx.h"

namespace coterie::model_import {

// A message of the file's bytes. Errors: malformed, too_large.
template <typename Message>
Status parse(ByteView file, Message& message, const char* what) {
  if (file.size() > kOnnxFileBytesMax) return Error(ErrorCode::too_large, std::string(what) + " is larger than 2 GiB");
  google::protobuf::io::CodedInputStream stream(file.data(), static_cast<int>(file.size()));
  stream.SetRecursionLimit(kNestingMax);
  if (!message.ParsePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return Error(ErrorCode::malformed, std::string("not ") + what + ": the bytes are cut short or of another format");
  }
  return {};
}

// None: of a type (TensorProto.DataType) that is no number and no boolean.
std::optional<Element> element_of(int type);

// Errors, to be read behind the tensor's name: malformed, too_large; invalid_argument (texts, data in another file).
Result<HostTensor> read_tensor(const ::onnx::TensorProto& proto);
// The number of elements, and the shape. Errors: malformed, too_large.
Result<uint64_t> count_of(const ::onnx::TensorProto& proto, Shape& shape);

}  // namespace coterie::model_import

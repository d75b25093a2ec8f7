// What a file is that is no model file, by its bytes: for the error of who was given it for one.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

// The error of a command that takes a model file, or none where the file begins as one: "net.tflite is a TFLite model;
// a model file is expected, which `coterie model convert net.tflite -o net.cotf` makes of it".
Status check_model_kind(ByteView file, const std::string& path);

// Likewise of a command that takes a model of another program, or ONNX alone; none where the file may be one.
Status check_foreign_kind(ByteView file, const std::string& path);
Status check_onnx_kind(ByteView file, const std::string& path);

}  // namespace coterie

// coterie model convert --verify: what is held against what, in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device_sdk/runtime/int8/int8_model.h"
#include "tools/cli/onnx_commands.h"
#include "tools/model/conversion_check.h"
#include "tools/model/foreign_model.h"
#include "tools/model/int8_conversion.h"
#include "tools/model/onnx_verify.h"
#include "tools/model/tflite_conversion.h"

namespace coterie {

struct Verification {
  std::string format;                          // ONNX, TFLite, MindSpore Lite
  std::vector<VerifyResult> parts;             // stored outputs, and kernels
  std::optional<ConversionResult> conversion;  // the model beside the graph
  std::optional<Int8Conversion> int8;          // the same of a file that computes in int8
  std::optional<TfliteConversion> tflite;      // the model beside the TFLite file
  bool is_dequantised = false;                 // floats beside integers: any distance is allowed, and told
  std::optional<Error> unverified;             // why there is none
  std::optional<Error> no_tflite;              // the same of the file
};

// Errors: those of verify_stored and verify_kernels, and of reading the graph.
Result<Verification> verify(const Model& model, const ForeignModel& foreign, ByteView file,
                            const ConvertOptions& options);
Result<Verification> verify_int8(const Int8Model& model, const ForeignModel& foreign, ByteView file,
                                 const ConvertOptions& options);

std::string text_of(const Verification& verification);
void add_to_json(const Verification& verification, nlohmann::json& json);
// What makes the command fail, if anything does.
std::optional<Error> fault_of(const Verification& verification);

}  // namespace coterie

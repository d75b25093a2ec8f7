#include "tools/cli/model_verification.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "device_sdk/runtime/seal.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr double kDifferenceMax = 1e-4;  // of the largest value: float32 sums in another order, layer upon layer
constexpr uint32_t kVerifyExamples = 2;

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

void hold_against_file(Verification& verification, const ForeignModel& foreign, const ConvertOptions& options,
                       const std::variant<const Model*, const Int8Model*>& model) {
  verification.format = foreign.format;
  verification.is_dequantised = foreign.is_dequantised;
  if (!foreign.tflite) return;
  const Result<TfliteConversion> checked = check_tflite_conversion(*foreign.tflite, options.output, model);
  if (checked) verification.tflite = *checked;
  else verification.no_tflite = checked.error();
}

std::string text_of(const Int8Conversion& result, const std::string& format) {
  return "conversion beside the " + format + " graph: " + counted(result.examples, "random example") + ",\n  " +
         std::to_string(result.apart) + " of " + counted(result.numbers, "number") + " more than a step of " +
         scientific(result.step) + " off (allowed: " + std::to_string(kApartPerThousandMax) +
         " of 1000),\n  the largest difference " + scientific(result.largest) +
         " (allowed: " + scientific(kStepsApartMax * result.step) + ")\n";
}

std::string text_of(const ConversionResult& result, const std::string& format) {
  return "conversion beside the " + format + " graph: " + counted(result.examples, "random example") + ", output " +
         printable(result.output.substr(0, result.output.find(';'))) + ":\n  largest difference " +
         scientific(result.absolute) + ", " + scientific(result.relative) +
         " of the largest value (allowed: " + scientific(kAbsoluteMax) + " + " + scientific(kRelativeMax) + " of it)\n";
}

std::string text_of(const TfliteConversion& result) {
  std::string text = "model beside the file itself, computed as TensorFlow Lite does:\n  " +
                     counted(result.examples, "random example") + ",\n  largest difference " +
                     scientific(result.largest);
  if (result.step == 0) return text + " (largest value: " + scientific(result.value) + ")\n";
  text += ", " + scientific(result.largest / result.step) + " times the step of its last grid;\n  " +
          std::to_string(result.apart) + " of " + counted(result.numbers, "number") + " more than a step off\n";
  if (result.ends == 0) return text;
  return text + "  left out: " + std::to_string(result.ends) + " where the file stops at an end of its grid\n";
}

bool agrees(const TfliteConversion& result) {
  if (result.step == 0) return result.apart == 0;
  return result.apart * 1000 <= result.numbers * kApartPerThousandMax && result.largest <= kStepsApartMax * result.step;
}

}  // namespace

Result<Verification> verify(const Model& model, const ForeignModel& foreign, ByteView file,
                            const ConvertOptions& options) {
  Verification verification;
  if (!foreign.tflite && !foreign.mslite) {
    COT_ASSIGN(verification.parts, verify_stored(model, options.from));
  }
  COT_ASSIGN(VerifyResult random, verify_kernels(model, kVerifyExamples));
  verification.parts.push_back(std::move(random));
  COT_ASSIGN(const model_import::Graph graph, graph_of(foreign, file, options.output));
  const Conversion convert = [&options](model_import::Graph part) -> Result<Bytes> {
    COT_ASSIGN(model_import::ImportedModel imported,
               model_import::import_graph(std::move(part), {.dimensions = options.dimensions}));
    seal(imported.model);
    return std::move(imported.model);
  };
  Result<ConversionResult> conversion = check_conversion(graph, options.dimensions, model, convert);
  if (conversion) verification.conversion = std::move(*conversion);
  else verification.unverified = conversion.error();
  hold_against_file(verification, foreign, options, &model);
  return verification;
}

Result<Verification> verify_int8(const Int8Model& model, const ForeignModel& foreign, ByteView file,
                                 const ConvertOptions& options) {
  Verification verification;
  COT_ASSIGN(const model_import::Graph graph, graph_of(foreign, file, options.output));
  const Result<Int8Conversion> checked = check_int8_conversion(graph, options.dimensions, model);
  if (checked) verification.int8 = *checked;
  else verification.unverified = checked.error();
  hold_against_file(verification, foreign, options, &model);
  return verification;
}

std::string text_of(const Verification& verification) {
  std::string text;
  for (const VerifyResult& v : verification.parts) {
    text += "\n" + v.what + ": " + counted(v.examples, "example") + ", largest difference " +
            format_fixed(v.difference * 1e6, 2) + " millionths of the largest value\n";
  }
  if (verification.conversion) text += "\n" + text_of(*verification.conversion, verification.format);
  if (verification.int8) text += "\n" + text_of(*verification.int8, verification.format);
  if (verification.tflite) text += "\n" + text_of(*verification.tflite);
  if (verification.no_tflite) {
    text += "\nnot held against the file itself: " + printable(verification.no_tflite->message()) + "\n";
  }
  return text;
}

void add_to_json(const Verification& verification, nlohmann::json& json) {
  for (const VerifyResult& v : verification.parts) {
    json["verified"].push_back({{"what", v.what}, {"examples", v.examples}, {"difference", v.difference}});
  }
  if (verification.conversion) {
    const ConversionResult& c = *verification.conversion;
    json["conversion"] = {{"output", c.output},
                          {"examples", c.examples},
                          {"absolute_difference", c.absolute},
                          {"relative_difference", c.relative},
                          {"agrees", c.agrees},
                          {"first_tensor", c.first_tensor}};
  }
  if (verification.int8) {
    const Int8Conversion& c = *verification.int8;
    json["conversion"] = {{"examples", c.examples},           {"numbers", c.numbers},
                          {"numbers_apart", c.apart},         {"step", c.step},
                          {"absolute_difference", c.largest}, {"agrees", c.agrees()}};
  }
  if (verification.unverified)
    json["conversion"] = {{"agrees", false}, {"unverified", verification.unverified->message()}};
  if (verification.tflite) {
    const TfliteConversion& c = *verification.tflite;
    json["file"] = {
        {"examples", c.examples},           {"numbers", c.numbers},      {"numbers_apart", c.apart}, {"step", c.step},
        {"absolute_difference", c.largest}, {"numbers_at_ends", c.ends}, {"agrees", agrees(c)}};
  }
  if (verification.no_tflite) json["file"] = {{"agrees", false}, {"unverified", verification.no_tflite->message()}};
}

std::optional<Error> fault_of(const Verification& verification) {
  for (const VerifyResult& v : verification.parts) {
    if (v.difference <= kDifferenceMax) continue;
    return Error(ErrorCode::internal,
                 v.what + ": the model differs from what it should compute by " + std::to_string(v.difference));
  }
  if (verification.unverified) return verification.unverified->with_context("the conversion is not verified");
  const std::string differs = "the model does not compute what the " + verification.format + " graph does: ";
  if (verification.int8 && !verification.int8->agrees()) {
    return Error(ErrorCode::internal, differs + "it differs by up to " + scientific(verification.int8->largest) + ", " +
                                          scientific(verification.int8->largest / verification.int8->step) +
                                          " steps of its last grid");
  }
  if (verification.conversion && !verification.conversion->agrees) {
    const ConversionResult& result = *verification.conversion;
    return Error(ErrorCode::internal, differs + "output " + printable(result.output) + " differs by " +
                                          scientific(result.absolute) + "; the first tensor that differs is " +
                                          printable(result.first_tensor) + ", of " + printable(result.first_node));
  }
  if (!verification.tflite || verification.is_dequantised || agrees(*verification.tflite)) return std::nullopt;
  return Error(ErrorCode::internal, "the model does not compute what the file does: it differs by up to " +
                                        scientific(verification.tflite->largest) + ", in " +
                                        std::to_string(verification.tflite->apart) + " of " +
                                        counted(verification.tflite->numbers, "number"));
}

}  // namespace coterie

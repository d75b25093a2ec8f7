// What a model says of classes: top_k, argmax, threshold.
#include <algorithm>
#include <bit>

#include "fl_server/json/json_reader.h"
#include "fl_server/serving/contract_file.h"
#include "model_io/contract_targets.h"
#include "model_io/top_scores.h"

namespace coterie {
namespace {

constexpr const char* kScores = "FP32 [classes], as many in every request";

bool is_scores(const ValueType& type) {
  return type.type == ProtocolType::float32 && type.shape.size() == 1 && type.shape[0] != kAnySize;
}

Error wrong_labels(size_t labels, const ValueType& seen) {
  return wrong_type(seen, "FP32 [" + std::to_string(labels) + "], as there are " + std::to_string(labels) + " labels");
}

class TopK final : public ServingStep {
 public:
  TopK(JsonReader& settings, std::vector<std::string> labels) : labels_(std::move(labels)) {
    settings.require("k");
    settings.read("k", k_);
    if (k_ < 1) settings.problem("k", "must be at least 1");
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (!is_scores(from[0])) return wrong_type(from[0], kScores);
    const auto classes = static_cast<size_t>(from[0].shape[0]);
    if (k_ > classes) return wrong_type(from[0], "at least the " + std::to_string(k_) + " classes of k");
    if (!labels_.empty() && labels_.size() != classes) return wrong_labels(labels_.size(), from[0]);
    std::vector<StepPart> parts{{"values", {ProtocolType::float32, {k_}}}, {"indices", {ProtocolType::int32, {k_}}}};
    if (!labels_.empty()) parts.push_back({"labels", {ProtocolType::bytes, {k_}}});
    return parts;
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    for (TensorValues& part : to) part.shape = {k_};
    for (const uint32_t place : top_scores(from[0].words, k_)) {
      to[0].words.push_back(from[0].words[place]);
      to[1].words.push_back(std::bit_cast<float>(place));
      if (!labels_.empty()) to[2].texts.push_back(labels_[place]);
    }
    return {};
  }

 private:
  uint32_t k_ = 0;
  std::vector<std::string> labels_;
};

class ArgMax final : public ServingStep {
 public:
  explicit ArgMax(std::vector<std::string> labels) : labels_(std::move(labels)) {}
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (!is_scores(from[0])) return wrong_type(from[0], kScores);
    if (labels_.empty()) return std::vector<StepPart>{{"", {ProtocolType::int32, {}}}};
    if (labels_.size() != static_cast<size_t>(from[0].shape[0])) return wrong_labels(labels_.size(), from[0]);
    return std::vector<StepPart>{{"", {ProtocolType::bytes, {}}}};
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    const uint32_t place = top_scores(from[0].words, 1)[0];
    if (labels_.empty()) to[0].words.push_back(std::bit_cast<float>(place));
    else to[0].texts.push_back(labels_[place]);
    return {};
  }

 private:
  std::vector<std::string> labels_;
};

// Whether a score is at least `at`: 1 or 0, or the second or the first label.
class Threshold final : public ServingStep {
 public:
  Threshold(JsonReader& settings, std::vector<std::string> labels) : labels_(std::move(labels)) {
    settings.require("at");
    settings.read("at", at_);
    if (!labels_.empty() && labels_.size() != 2)
      settings.problem("labels", "must have two texts: below the threshold, and from it on");
  }
  Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const override {
    if (from[0].type != ProtocolType::float32) return wrong_type(from[0], "FP32");
    const ProtocolType type = labels_.empty() ? ProtocolType::int32 : ProtocolType::bytes;
    return std::vector<StepPart>{{"", {type, from[0].shape}}};
  }
  Status run(std::span<const ValueView> from, std::span<TensorValues> to) const override {
    to[0].shape = *from[0].shape;
    for (const float score : from[0].words) {
      const int32_t reaches = score >= at_ ? 1 : 0;
      if (labels_.empty()) to[0].words.push_back(std::bit_cast<float>(reaches));
      else to[0].texts.push_back(labels_[static_cast<size_t>(reaches)]);
    }
    return {};
  }

 private:
  float at_ = 0;
  std::vector<std::string> labels_;
};

// Names of the classes: as they stand there, or those of a contract.
Result<std::vector<std::string>> read_labels(JsonReader& settings, const StepFiles& files) {
  std::vector<std::string> labels;
  std::string path;
  settings.read("labels", labels);
  settings.read("labels_from", path);
  if (path.empty()) return labels;
  if (!labels.empty()) settings.problem("labels_from", "and labels: one of them");
  COT_ASSIGN(const InputContract contract, read_step_contract(files, path));
  if (const Status one = check_one_target(contract, "labels_from"); !one) return one.error().with_context(path);
  if (contract.target.classes.empty()) {
    return Error(ErrorCode::invalid_argument, path + " has a number as its target, expected classes");
  }
  return contract.target.classes;
}

}  // namespace

StepResult make_class_step(const std::string& kind, JsonReader& settings, const StepFiles& files) {
  if (kind != "top_k" && kind != "argmax" && kind != "threshold") return std::unique_ptr<ServingStep>();
  COT_ASSIGN(std::vector<std::string> labels, read_labels(settings, files));
  if (kind == "top_k") return std::unique_ptr<ServingStep>(new TopK(settings, std::move(labels)));
  if (kind == "argmax") return std::unique_ptr<ServingStep>(new ArgMax(std::move(labels)));
  return std::unique_ptr<ServingStep>(new Threshold(settings, std::move(labels)));
}

}  // namespace coterie

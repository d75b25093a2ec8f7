#include "device_sdk/runtime/measures.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text/concat.h"
#include "device_sdk/runtime/loss_rule.h"

namespace coterie {
namespace {

constexpr std::string_view kNames[] = {"precision", "recall", "f1", "auc", "mae", "rmse", "r2", "perplexity"};
constexpr std::string_view kTop = "top-";

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, what); }

// K of "top-K"; 0 if it is none.
uint32_t top_k_of(std::string_view name) {
  uint32_t k = 0;
  if (!name.starts_with(kTop)) return 0;
  const char* const end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + kTop.size(), end, k);
  return error == std::errc() && stopped == end ? k : 0;
}

MeasuredRows rows_of(const LossSettings& loss, uint64_t width) {
  if (loss.kind == Loss::cosine_embedding || loss.kind == Loss::triplet_margin) return MeasuredRows::none;
  if (loss.target == TargetKind::values) return MeasuredRows::values;
  switch (loss.kind) {
    case Loss::binary_cross_entropy:
    case Loss::binary_cross_entropy_of_probabilities: return MeasuredRows::binary;
    case Loss::softmax_cross_entropy:
    case Loss::negative_log_likelihood: return MeasuredRows::classes;
    case Loss::mean_squared_error: return width == 1 ? MeasuredRows::values : MeasuredRows::classes;
    default: return MeasuredRows::values;  // a number for each element (target_for_loss)
  }
}

bool is_cross_entropy(const LossSettings& loss) {
  return loss.kind == Loss::softmax_cross_entropy || loss.kind == Loss::negative_log_likelihood;
}

constexpr uint32_t kTopOfAll = 5;

}  // namespace

Status check_measures(std::span<const std::string> names) {
  uint32_t top = 0;
  for (const std::string& name : names) {
    const uint32_t k = top_k_of(name);
    if (k == 0 && std::ranges::find(kNames, name) == std::end(kNames)) {
      return bad(concat({"measures are ", kMeasureNames, "; there is no ", name}));
    }
    if (k > 0 && std::exchange(top, k) > 0) return bad("one top-K at a time");
  }
  return {};
}

std::vector<std::string> every_measure(uint64_t width) {
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  if (width > kTopOfAll) names.insert(names.begin(), std::string(kTop) + std::to_string(kTopOfAll));
  return names;
}

MeasureCollector::MeasureCollector(const LossSettings& loss, uint64_t width, std::span<const std::string> names,
                                   double unit)
    : loss_(loss),
      unit_(unit),
      width_(width),
      rows_(rows_of(loss, width)),
      classes_(rows_ == MeasuredRows::classes ? static_cast<uint32_t>(width) : 2, top_k_among(names)) {}

uint32_t MeasureCollector::top_k_among(std::span<const std::string> names) {
  uint32_t top_k = 1;
  for (const std::string& name : names) top_k = std::max(top_k, top_k_of(name));
  return top_k;
}

void MeasureCollector::add(std::span<const float> outputs, std::span<const float> targets) {
  const auto* labels = reinterpret_cast<const int32_t*>(targets.data());
  const bool is_labelled = loss_.target == TargetKind::labels;
  if (rows_ == MeasuredRows::classes) {
    for (size_t i = 0; i < targets.size(); ++i) {
      if (labels[i] == kIgnoredLabel) continue;
      classes_.add(outputs.subspan(i * width_, width_), static_cast<uint32_t>(labels[i]));
    }
  } else if (rows_ == MeasuredRows::binary) {
    const float threshold = loss_.kind == Loss::binary_cross_entropy ? 0.0f : 0.5f;
    for (size_t i = 0; i < targets.size(); ++i) {
      const float scores[] = {threshold, outputs[i]};
      classes_.add(scores, static_cast<uint32_t>(labels[i]));
    }
  } else if (rows_ == MeasuredRows::values) {
    for (size_t i = 0; i < targets.size(); ++i) {
      values_.add(outputs[i], is_labelled ? static_cast<float>(labels[i]) : targets[i]);
    }
  }
}

Result<double> MeasureCollector::value_of(std::string_view name, const Evaluation& evaluation) const {
  if (name == "mae" || name == "rmse") {
    if (rows_ != MeasuredRows::values) return bad(concat({name, " needs a loss of numbers"}));
    return unit_ * (name == "mae" ? values_.mean_absolute_error() : values_.root_mean_squared_error());
  }
  if (name == "r2") {
    if (rows_ != MeasuredRows::values) return bad("r2 needs a loss of numbers");
    if (const std::optional<double> r2 = values_.r2()) return *r2;
    return bad("r2 needs targets that are not all the same");
  }
  if (name == "perplexity") {
    if (!is_cross_entropy(loss_))
      return bad(concat({"perplexity needs a cross entropy, the loss is ", to_string(loss_.kind)}));
    return perplexity(evaluation.loss_mean);
  }
  if (rows_ != MeasuredRows::classes && rows_ != MeasuredRows::binary) return bad(concat({name, " needs classes"}));
  if (name == "auc") {
    if (const std::optional<double> area = classes_.auc()) return *area;
    return bad("auc needs two classes, both among the examples");
  }
  const MacroScores macro = classes_.macro();
  if (name == "precision") return macro.precision;
  if (name == "recall") return macro.recall;
  if (name == "f1") return macro.f1;
  return classes_.top_k_accuracy();
}

}  // namespace coterie

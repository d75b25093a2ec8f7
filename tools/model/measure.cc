#include "tools/model/measure.h"

#include <algorithm>
#include <charconv>

#include "device_sdk/runtime/metrics.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;
constexpr const char* kAll = "all";
constexpr const char* kNames[] = {"precision", "recall", "f1", "auc", "mae", "rmse", "r2", "perplexity"};
constexpr std::string_view kTop = "top-";

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

// K of "top-K"; 0 if it is none.
uint32_t top_k_of(std::string_view name) {
  uint32_t k = 0;
  if (!name.starts_with(kTop)) return 0;
  const char* const end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + kTop.size(), end, k);
  return error == std::errc() && stopped == end ? k : 0;
}

bool is_measure(std::string_view name) {
  return name == kAll || top_k_of(name) > 0 || std::ranges::find(kNames, name) != std::end(kNames);
}

// What a row of the output is compared with.
enum class Rows : uint8_t {
  classes,  // a score each class, one label
  binary,   // every element by itself is a score of class 1 against `threshold`
  values,   // numbers
  none      // pairs and triplets of rows: none of the measures is about them
};

Rows rows_of(const LossSettings& loss, uint64_t width) {
  if (loss.kind == Loss::cosine_embedding || loss.kind == Loss::triplet_margin) return Rows::none;
  if (loss.target == TargetKind::values) return Rows::values;
  switch (loss.kind) {
    case Loss::binary_cross_entropy:
    case Loss::binary_cross_entropy_of_probabilities: return Rows::binary;
    case Loss::softmax_cross_entropy:
    case Loss::negative_log_likelihood: return Rows::classes;
    default: return width == 1 ? Rows::values : Rows::classes;
  }
}

bool is_cross_entropy(const LossSettings& loss) {
  return loss.kind == Loss::softmax_cross_entropy || loss.kind == Loss::negative_log_likelihood;
}

// Everything that is collected while the examples pass by.
class Collector {
 public:
  Collector(const LossSettings& loss, uint64_t width, uint32_t top_k, double unit)
      : loss_(loss),
        unit_(unit),
        width_(width),
        rows_(rows_of(loss, width)),
        classes_(rows_ == Rows::classes ? static_cast<uint32_t>(width) : 2, top_k) {}

  void add(std::span<const float> outputs, std::span<const float> targets) {
    const auto* labels = reinterpret_cast<const int32_t*>(targets.data());
    const bool is_labelled = loss_.target == TargetKind::labels;
    if (rows_ == Rows::classes) {
      for (size_t i = 0; i < targets.size(); ++i) {
        classes_.add(outputs.subspan(i * width_, width_), static_cast<uint32_t>(labels[i]));
      }
    } else if (rows_ == Rows::binary) {
      const float threshold = loss_.kind == Loss::binary_cross_entropy ? 0.0f : 0.5f;
      for (size_t i = 0; i < targets.size(); ++i) {
        const float scores[] = {threshold, outputs[i]};
        classes_.add(scores, static_cast<uint32_t>(labels[i]));
      }
    } else if (rows_ == Rows::values) {
      for (size_t i = 0; i < targets.size(); ++i) {
        values_.add(outputs[i], is_labelled ? static_cast<float>(labels[i]) : targets[i]);
      }
    }
  }

  Result<double> value_of(std::string_view name, const Evaluation& evaluation) const {
    if (name == "mae" || name == "rmse") {
      if (rows_ != Rows::values) return bad(std::string(name) + " needs a loss of numbers");
      return unit_ * (name == "mae" ? values_.mean_absolute_error() : values_.root_mean_squared_error());
    }
    if (name == "r2") {
      if (rows_ != Rows::values) return bad("r2 needs a loss of numbers");
      if (const std::optional<double> r2 = values_.r2()) return *r2;
      return bad("r2 needs targets that are not all the same");
    }
    if (name == "perplexity") {
      if (!is_cross_entropy(loss_))
        return bad("perplexity needs a cross entropy, the loss is " + std::string(to_string(loss_.kind)));
      return perplexity(evaluation.loss_mean);
    }
    if (rows_ != Rows::classes && rows_ != Rows::binary) return bad(std::string(name) + " needs classes");
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

 private:
  const LossSettings& loss_;
  double unit_;
  uint64_t width_;
  Rows rows_;
  ClassMetrics classes_;
  ValueMetrics values_;
};

constexpr uint32_t kTopOfAll = 5;

std::vector<std::string> every_name(uint64_t width) {
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  if (width > kTopOfAll) names.insert(names.begin(), std::string(kTop) + std::to_string(kTopOfAll));
  return names;
}

}  // namespace

LossSettings loss_for(const DatasetHeader& data, std::optional<Loss> named) {
  const bool is_labelled = data.target.type != ColumnType::float32;
  return {.kind = named.value_or(is_labelled ? Loss::softmax_cross_entropy : Loss::mean_squared_error),
          .target = is_labelled ? TargetKind::labels : TargetKind::values};
}

Result<std::vector<std::string>> parse_measures(std::string_view text) {
  std::vector<std::string> names;
  uint32_t top = 0;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string name(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (!is_measure(name)) return bad("measures are " + std::string(kMeasureNames) + "; there is no " + name);
    if (const uint32_t k = top_k_of(name); k > 0 && std::exchange(top, k) > 0) return bad("one top-K at a time");
    names.push_back(name);
  }
  return names;
}

Result<Measured> measure(const Model& model, ExampleSource& examples, const LossSettings& loss,
                         const std::vector<std::string>& names, uint32_t threads, double unit, const OutputSink& also) {
  const auto width = static_cast<uint64_t>(model.output_shape().back());
  const bool takes_what_fits = std::ranges::find(names, kAll) != names.end();
  const std::vector<std::string> wanted = takes_what_fits ? every_name(width) : names;
  uint32_t top_k = 1;
  for (const std::string& name : wanted) top_k = std::max(top_k, top_k_of(name));
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch, limits::kArenaBytesMax, threads));
  Collector collector(loss, width, top_k, unit);
  OutputSink sink;
  if (!wanted.empty() || also) {
    sink = [&](auto outputs, auto targets) {
      if (!wanted.empty()) collector.add(outputs, targets);
      if (also) also(outputs, targets);
    };
  }
  Measured measured;
  COT_ASSIGN(measured.evaluation, evaluator.run(model.parameters(), examples, sink));
  for (const std::string& name : wanted) {
    const Result<double> value = collector.value_of(name, measured.evaluation);
    if (value) measured.measures.push_back({name, *value});
    else if (!takes_what_fits) return value.error();
  }
  return measured;
}

}  // namespace coterie

#include "tools/explain/permutation_importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/permuted_inputs.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;

// The examples as they are, which are kept on the way; with a feature its values are permuted among them.
class PermutedSource final : public ExampleSource {
 public:
  PermutedSource(ExampleSource& source, uint64_t example_values, uint64_t seed)
      : source_(source), inputs_(source.size(), example_values, seed) {}
  void shuffle(const Feature& feature) {
    feature_ = &feature;
    inputs_.shuffle();
  }
  uint64_t size() const override { return source_.size(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index, to));
    if (feature_ == nullptr) std::ranges::copy(to.features(), inputs_.kept(index).begin());
    else inputs_.permute(index, feature_->first, feature_->count, to.features());
    return {};
  }

 private:
  ExampleSource& source_;
  PermutedInputs inputs_;
  const Feature* feature_ = nullptr;
};

FeatureImportance importance_of(const std::vector<double>& rises, double error_rise) {
  const auto count = static_cast<double>(rises.size());
  FeatureImportance made{.loss_rise = std::accumulate(rises.begin(), rises.end(), 0.0) / count,
                         .error_rise = error_rise / count};
  double squares = 0;
  for (const double rise : rises) squares += (rise - made.loss_rise) * (rise - made.loss_rise);
  if (rises.size() > 1) made.deviation = std::sqrt(squares / (count - 1));
  return made;
}

}  // namespace

Result<PermutationImportance> permutation_importance(const Model& model, const LossSettings& loss,
                                                     ExampleSource& examples, std::span<const Feature> features,
                                                     uint32_t repeats, uint64_t seed) {
  if (model.graph().inputs.size() != 1 || model.input_type() != DataType::float32) {
    return Error(ErrorCode::invalid_argument, "permutation importance is of models with one input, of numbers");
  }
  const uint64_t size = elements(model.input_shape());
  if (features.size() > kPermutedFeaturesMax || examples.size() > kPermutedValuesMax / size) {
    return Error(ErrorCode::too_large, "permutation importance takes at most " + std::to_string(kPermutedFeaturesMax) +
                                           " features and 2^28 values of all examples");
  }
  COT_ASSIGN(Evaluator evaluator, Evaluator::create(model, loss, kBatch));
  PermutedSource permuted(examples, size, seed);
  PermutationImportance made;
  COT_ASSIGN(const Evaluation whole, evaluator.run(model.parameters(), permuted));
  made.loss = whole.loss_mean;
  for (const Feature& feature : features) {
    std::vector<double> rises;
    double error_rise = 0;
    for (uint32_t i = 0; i < repeats; ++i) {
      permuted.shuffle(feature);
      COT_ASSIGN(const Evaluation evaluation, evaluator.run(model.parameters(), permuted));
      rises.push_back(evaluation.loss_mean - whole.loss_mean);
      error_rise += whole.accuracy - evaluation.accuracy;
    }
    made.features.push_back(importance_of(rises, error_rise));
  }
  return made;
}

}  // namespace coterie

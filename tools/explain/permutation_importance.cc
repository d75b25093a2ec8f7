#include "tools/explain/permutation_importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "device_sdk/runtime/evaluator.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;

// The examples, one feature of them taken from others.
class ShuffledFeature final : public ExampleSource {
 public:
  ShuffledFeature(ExampleSource& source, const std::vector<float>& values) : source_(source), values_(values) {}
  void shuffle(const Feature& feature, const std::vector<uint64_t>& order) {
    feature_ = &feature;
    order_ = &order;
  }
  uint64_t size() const override { return source_.size(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index, to));
    if (feature_ == nullptr) return {};
    const std::span<float> features = to.features();
    const auto other = std::span(values_).subspan((*order_)[index] * features.size(), features.size());
    std::ranges::copy(other.subspan(feature_->first, feature_->count),
                      features.begin() + static_cast<ptrdiff_t>(feature_->first));
    return {};
  }

 private:
  ExampleSource& source_;
  const std::vector<float>& values_;
  const Feature* feature_ = nullptr;
  const std::vector<uint64_t>* order_ = nullptr;
};

// The inputs of all examples, as the evaluation below reads them.
class KeptInputs final : public ExampleSource {
 public:
  KeptInputs(ExampleSource& source, std::vector<float>& values) : source_(source), values_(values) {}
  uint64_t size() const override { return source_.size(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index, to));
    const std::span<float> features = to.features();
    std::ranges::copy(features, values_.begin() + static_cast<ptrdiff_t>(index * features.size()));
    return {};
  }

 private:
  ExampleSource& source_;
  std::vector<float>& values_;
};

FeatureImportance importance_of(const std::vector<double>& rises) {
  const auto count = static_cast<double>(rises.size());
  FeatureImportance made{.loss_rise = std::accumulate(rises.begin(), rises.end(), 0.0) / count};
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
  std::vector<float> values(examples.size() * size);
  KeptInputs kept(examples, values);
  PermutationImportance made;
  COT_ASSIGN(const Evaluation whole, evaluator.run(model.parameters(), kept));
  made.loss = whole.loss_mean;
  ShuffledFeature shuffled(examples, values);
  Prng prng(seed);
  std::vector<uint64_t> order(examples.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  for (const Feature& feature : features) {
    std::vector<double> rises;
    for (uint32_t i = 0; i < repeats; ++i) {
      prng.shuffle(order);
      shuffled.shuffle(feature, order);
      COT_ASSIGN(const Evaluation evaluation, evaluator.run(model.parameters(), shuffled));
      rises.push_back(evaluation.loss_mean - whole.loss_mean);
    }
    made.features.push_back(importance_of(rises));
  }
  return made;
}

}  // namespace coterie

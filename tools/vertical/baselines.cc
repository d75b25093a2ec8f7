#include "tools/vertical/baselines.h"

#include <memory>

#include "base/assert.h"
#include "vertical/regression/regression_model.h"
#include "vertical/regression/ring_plan.h"
#include "vertical/trees/predict_trees.h"
#include "vertical/trees/train_trees.h"

namespace coterie {
namespace {

// The key of a training without feature parties: there is nobody to encrypt for.
class NoKey final : public AdditiveKey {
 public:
  size_t ciphertext_bytes() const override { return 512; }
  size_t plaintext_bits() const override { return 2046; }
  Bytes public_key() const override { return {}; }
  void encrypt(const PlainNumber&, std::span<uint8_t>) override { COT_ASSERT(false); }
  Result<std::vector<PlainNumber>> decrypt(ByteView) const override {
    return Error(ErrorCode::internal, "trees: there is no key");
  }
};

}  // namespace

Result<std::vector<float>> plain_scores(const PlainData& data, const vertical::TreeSettings& settings, uint32_t bins,
                                        Secret<32> sample_seed) {
  COT_ASSIGN(vertical::BinnedColumns columns, vertical::bin_columns(data.train, bins));
  COT_ASSIGN(const std::unique_ptr<vertical::LabelTraining> training,
             vertical::LabelTraining::start(std::move(columns), data.labels, settings, {}, std::make_unique<NoKey>(),
                                            {}, std::move(sample_seed)));
  COT_ASSERT(training->done());
  const auto rows = static_cast<uint32_t>(data.held_out.empty() ? 0 : data.held_out[0].size());
  COT_ASSIGN(const std::unique_ptr<vertical::LabelPrediction> prediction,
             vertical::LabelPrediction::start(data.held_out, training->model(), rows, {}));
  COT_ASSERT(prediction->done());
  return prediction->scores();
}

Result<std::vector<float>> plain_linear_scores(const PlainData& data, const vertical::RidgeSettings& settings) {
  COT_ASSIGN(const vertical::RegressionModel model, vertical::pooled_ridge(data.train, data.labels, settings));
  const size_t held_out = data.held_out.empty() ? 0 : data.held_out[0].size();
  const std::vector<double> sums = vertical::partial_margins(model, data.held_out, held_out);
  return std::vector<float>(sums.begin(), sums.end());
}

std::vector<float> plain_regression_scores(const PlainData& data, const vertical::RegressionSettings& settings) {
  using namespace vertical;
  RegressionModel model = scale_columns(data.train);
  const auto rows = static_cast<uint32_t>(data.labels.size());
  const size_t width = data.train.size();
  std::vector<double> values(rows * width);
  for (size_t c = 0; c < width; ++c) {
    for (uint32_t row = 0; row < rows; ++row)
      values[row * width + c] = standardised(model.columns[c], data.train[c][row]);
  }
  const RingPlan plan({.rows = rows, .batch = settings.batch, .epochs = settings.epochs});
  for (uint32_t step = 0; step < plan.steps(); ++step) {
    std::vector<double> gradient(width);
    double of_intercept = 0;
    const uint32_t count = plan.rows_of(step);
    for (uint32_t row = plan.first_row(step); row < plan.first_row(step) + count; ++row) {
      const double* const of_row = &values[row * width];
      double margin = model.intercept;
      for (size_t c = 0; c < width; ++c) margin += model.columns[c].weight * of_row[c];
      const double residual = (sigmoid(margin) - double{data.labels[row]}) / count;
      for (size_t c = 0; c < width; ++c) gradient[c] += residual * of_row[c];
      of_intercept += residual;
    }
    for (size_t c = 0; c < width; ++c) {
      double& weight = model.columns[c].weight;
      weight -= settings.rate * (gradient[c] + settings.lambda * weight);
    }
    model.intercept -= settings.rate * of_intercept;
  }
  std::vector<float> scores;
  const size_t held_out = data.held_out.empty() ? 0 : data.held_out[0].size();
  for (const double margin : partial_margins(model, data.held_out, held_out)) {
    scores.push_back(static_cast<float>(sigmoid(margin)));
  }
  return scores;
}

}  // namespace coterie

#include "tools/vertical/split_baseline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "device_sdk/runtime/part_trainer.h"
#include "vertical/split/batch_order.h"
#include "vertical/split/split_columns.h"
#include "vertical/split/split_network.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr uint64_t kSeed = 1;

double probability(float logit) { return 1 / (1 + std::exp(-static_cast<double>(logit))); }

// Logits of rows in batches, in order.
Result<std::vector<float>> logits_of(PartTrainer& trainer, const SplitInputs& inputs, uint32_t batch) {
  std::vector<float> logits(inputs.rows);
  std::vector<uint32_t> rows;
  for (uint32_t first = 0; first < inputs.rows; first += batch) {
    rows.clear();
    for (uint32_t row = first; row < std::min(inputs.rows, first + batch); ++row) rows.push_back(row);
    const std::vector<float> values = inputs.gather(rows);
    const std::array<std::span<const float>, 1> given{values};
    COT_TRY(trainer.forward(given, rows.size(), std::span(logits).subspan(first, rows.size())));
  }
  return logits;
}

}  // namespace

Result<std::vector<float>> plain_split_scores(const PlainData& data, const SplitSettings& of_job, uint32_t parties) {
  SplitSettings settings = of_job;
  settings.hidden = std::min(kSplitWidthMax, settings.hidden * parties);
  settings.cut = std::min(kSplitWidthMax, settings.cut * parties);
  // Nothing is sent here, so that what fits a message is no limit.
  settings.in_flight = 1;
  if (data.train.empty()) return std::vector<float>{};
  COT_ASSIGN(const SplitColumns columns, fit_columns(data.train, settings));
  const size_t held_rows = data.held_out.empty() ? 0 : data.held_out[0].size();
  COT_ASSIGN(const SplitInputs train, encode_columns(columns, data.train, static_cast<uint32_t>(data.labels.size())));
  COT_ASSIGN(const SplitInputs held_out, encode_columns(columns, data.held_out, static_cast<uint32_t>(held_rows)));
  COT_ASSIGN(Bytes file, make_whole_network(settings, train.schema, kSeed));
  COT_ASSIGN(const Model network, Model::load(std::move(file)));
  COT_ASSIGN(
      PartTrainer trainer,
      PartTrainer::create(network, {.optimizer = {.kind = settings.is_adam ? OptimizerKind::adam : OptimizerKind::sgd,
                                                  .learning_rate = static_cast<float>(settings.rate)},
                                    .batch_size = settings.batch}));
  BatchOrder order(settings, train.rows, {});
  for (uint32_t step = 0; step < order.steps(); ++step) {
    const std::span<const uint32_t> rows = order.rows(step);
    const std::vector<float> values = train.gather(rows);
    const std::array<std::span<const float>, 1> given{values};
    std::vector<float> logits(rows.size()), slopes(rows.size());
    COT_TRY(trainer.forward(given, rows.size(), logits));
    for (size_t i = 0; i < rows.size(); ++i) {
      slopes[i] = static_cast<float>((probability(logits[i]) - double{data.labels[rows[i]]}) /
                                     static_cast<double>(rows.size()));
    }
    COT_TRY(trainer.backward(slopes, {}));
  }
  COT_ASSIGN(std::vector<float> scores, logits_of(trainer, held_out, settings.batch));
  for (float& score : scores) score = static_cast<float>(probability(score));
  return scores;
}

}  // namespace coterie

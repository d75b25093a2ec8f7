#include "vertical/exact/exact_party.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "secure/crypto/sha256.h"

namespace coterie::vertical {
namespace {

RingPlan plan_of(const ExactRun& run) {
  return RingPlan({.rows = run.rows,
                   .label_columns = 1,
                   .feature_columns = 1,
                   .batch = run.settings.batch,
                   .epochs = run.settings.epochs});
}

}  // namespace

Error exact_diverged(uint32_t step) {
  return Error(
      ErrorCode::refused,
      "regression: step " + std::to_string(step) + " left all range; a lower rate or a higher lambda keeps it there",
      "regression_diverged");
}

Status check_exact_inputs(const ExactRun& run, const std::vector<std::vector<float>>& columns, size_t extra) {
  bool fits = run.from.steps < plan_of(run).steps() &&
              run.from.weights.size() == (run.from.steps == 0 ? 0 : columns.size() + extra);
  for (const auto& column : columns) fits = fits && column.size() == run.rows;
  if (fits) return {};
  return Error(ErrorCode::invalid_argument, "regression: expected columns of " + std::to_string(run.rows) +
                                                " rows each, and a checkpoint before the end with their weights");
}

ExactParty::ExactParty(ExactRun run, const std::vector<std::vector<float>>& columns, size_t extra)
    : run_(std::move(run)),
      plan_(plan_of(run_)),
      model_(scale_columns(columns)),
      weights_(run_.from.steps == 0 ? std::vector<double>(columns.size() + extra) : run_.from.weights),
      steps_done_(run_.from.steps),
      said_(run_.from.said) {}

std::optional<Message> ExactParty::next() {
  if (outbox_.empty()) return std::nullopt;
  Message message = std::move(outbox_.front());
  outbox_.pop_front();
  return message;
}

void ExactParty::margins_are_said(ByteView payload) {
  WireWriter chain;
  chain.digest(said_);
  chain.raw(payload);
  said_ = sha256(chain.take());
}

void ExactParty::step_is_done() {
  ++steps_done_;
  // After the last step the model itself is what is kept.
  if (steps_done_ % kExactCheckpointSteps != 0 || steps_done_ == plan_.steps()) return;
  checkpoint_ = ExactCheckpoint{.steps = steps_done_, .said = said_, .weights = weights_};
}

void ExactParty::descend(size_t w, double gradient, bool is_intercept) {
  const RegressionSettings& descent = run_.settings;
  weights_[w] -= descent.rate * (gradient + (is_intercept ? 0 : descent.lambda * weights_[w]));
}

bool ExactParty::weights_are_finite() const {
  return std::ranges::all_of(weights_, [](double weight) { return std::isfinite(weight); });
}

}  // namespace coterie::vertical

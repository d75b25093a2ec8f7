#include "vertical/split/split_party.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "secure/crypto/sha256.h"

namespace coterie::vertical {
namespace {

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, "split: " + what); }

}  // namespace

Status check_split_parts(const SplitRun& run, const Model& network, const SplitInputs& inputs, size_t own_input) {
  COT_TRY(check_split_settings(run.settings));
  if (inputs.rows == 0 || inputs.rows > kSplitRowsMax ||
      inputs.values.size() != size_t{inputs.rows} * inputs.schema.columns) {
    return wrong(std::to_string(inputs.rows) + " rows with " + std::to_string(inputs.values.size()) + " values");
  }
  const bool has_columns = inputs.schema.columns > 0;
  const size_t expected = own_input + (has_columns ? 1 : 0);
  const Shape columns{inputs.schema.columns};
  if (network.graph().inputs.size() != expected || (has_columns && network.input_shape(own_input) != columns)) {
    return wrong("the network does not read " + std::to_string(inputs.schema.columns) + " columns");
  }
  const Shape cut{cut_width(run.settings)};
  const Shape& crossing = own_input == 0 ? network.output_shape() : network.input_shape(0);
  if (crossing != cut || (own_input == 1 && network.output_shape() != Shape{1})) {
    return wrong("the network is none of a cut of " + std::to_string(cut_width(run.settings)) + " numbers");
  }
  const uint64_t steps = uint64_t{(inputs.rows + run.settings.batch - 1) / run.settings.batch} * run.settings.epochs;
  if (steps > UINT32_MAX || (run.from.steps > 0 && run.from.steps >= steps)) {
    return wrong("a checkpoint of step " + std::to_string(run.from.steps) + " in a training of " +
                 std::to_string(steps) + " steps");
  }
  return {};
}

SplitParty::SplitParty(SplitRun run, const Model& network, SplitInputs inputs, PartTrainer trainer)
    : run_(std::move(run)),
      network_(network),
      inputs_(std::move(inputs)),
      trainer_(std::move(trainer)),
      order_(run_.settings, inputs_.rows, run_.order) {}

Status SplitParty::restore() {
  if (run_.from.steps == 0) return {};
  COT_TRY(trainer_.restore(run_.from.steps, run_.from.state));
  steps_done_ = run_.from.steps;
  said_ = run_.from.said;
  return {};
}

std::optional<Message> SplitParty::next() {
  if (outbox_.empty()) return std::nullopt;
  Message message = std::move(outbox_.front());
  outbox_.pop_front();
  return message;
}

void SplitParty::step_is_done(const Digest& activations, ByteView gradients) {
  WireWriter chain;
  chain.digest(said_);
  chain.digest(activations);
  chain.digest(sha256(gradients));
  said_ = sha256(chain.take());
  steps_done_ += 1;
  if (steps_done_ % run_.settings.commit_steps != 0 || steps_done_ == order_.steps()) return;
  checkpoint_ = SplitCheckpoint{.steps = steps_done_, .said = said_, .state = trainer_.state(), .losses = loss_sums()};
}

bool all_are_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

Error split_diverged(uint32_t step) {
  return Error(ErrorCode::refused,
               "split: in step " + std::to_string(step) + " a number was no longer finite; lower the rate",
               "split_diverged");
}

PartOptions part_options(const SplitSettings& settings, std::vector<uint32_t> inputs_with_gradient) {
  return {.optimizer = {.kind = settings.is_adam ? OptimizerKind::adam : OptimizerKind::sgd,
                        .learning_rate = static_cast<float>(settings.rate)},
          .batch_size = settings.batch,
          .inputs_with_gradient = std::move(inputs_with_gradient)};
}

}  // namespace coterie::vertical

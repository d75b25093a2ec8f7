#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "secure/crypto/sha256.h"
#include "vertical/split/gradient_protection.h"
#include "vertical/split/label_targets.h"
#include "vertical/split/split_party.h"
#include "vertical/split/split_random.h"

namespace coterie::vertical {
namespace {

class LabelMachine final : public SplitParty {
 public:
  LabelMachine(SplitRun run, const Model& network, SplitInputs inputs, PartTrainer trainer, LabelTargets targets)
      : SplitParty(std::move(run), network, std::move(inputs), std::move(trainer)),
        targets_(std::move(targets)),
        loss_sums_(from().losses) {}

  Status begin() { return restore(); }

  Status receive(const Message& message) override {
    const uint32_t step = steps_done();
    if (step == order().steps()) {
      return Error(ErrorCode::malformed, "split: a message came behind the last step");
    }
    const std::span<const uint32_t> rows = order().rows(step);
    COT_ASSIGN(const std::vector<float> activations, read_split_message(message, {.from = kSplitFeatureParty,
                                                                                  .kind = SplitMessage::activations,
                                                                                  .step = step,
                                                                                  .rows = rows.size(),
                                                                                  .width = width(),
                                                                                  .encoding = settings().activations}));
    const std::vector<float> own = inputs().gather(rows);
    std::vector<std::span<const float>> given{activations};
    if (inputs().schema.columns > 0) given.push_back(own);
    std::vector<float> logits(rows.size());
    COT_TRY(trainer().forward(given, rows.size(), logits));
    const std::vector<float> slopes = loss_of(rows, logits);
    std::vector<float> gradients(activations.size());
    const std::array<std::span<float>, 1> wanted{gradients};
    COT_TRY(trainer().backward(slopes, wanted));
    if (!all_are_finite(logits) || !all_are_finite(gradients) || !all_are_finite(trainer().parameters())) {
      return split_diverged(step);
    }
    answer(step, rows, std::move(gradients), sha256(tensor_of(message)));
    return {};
  }

  std::vector<double> losses() const override {
    std::vector<double> means = loss_sums_;
    if (steps_done() % order_steps() != 0) means.pop_back();
    for (double& mean : means) mean /= order_steps();
    return means;
  }

 private:
  uint32_t order_steps() const { return order().steps_an_epoch(); }

  std::vector<double> loss_sums() const override { return loss_sums_; }

  // Log loss of each row, added up, and its slope by the logit; of targets outside of [0, 1] the same formulas.
  std::vector<float> loss_of(std::span<const uint32_t> rows, std::span<const float> logits) {
    std::vector<float> slopes;
    double sum = 0;
    const auto count = static_cast<double>(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const double z = double{logits[i]}, target = double{targets_.targets[rows[i]]};
      sum += std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))) - target * z;
      slopes.push_back(static_cast<float>((1 / (1 + std::exp(-z)) - target) / count));
    }
    const uint32_t epoch = steps_done() / order().steps_an_epoch();
    loss_sums_.resize(epoch + 1);
    loss_sums_[epoch] += sum / count;
    return slopes;
  }

  void answer(uint32_t step, std::span<const uint32_t> rows, std::vector<float> gradients, const Digest& heard) {
    std::vector<uint8_t> labels;
    for (const uint32_t row : rows) labels.push_back(targets_.labels[row]);
    protect_gradients(settings().protection, gradients, width(), labels, seed(), step);
    std::vector<uint64_t> random;
    if (settings().gradients != CutEncoding::float32) {
      random = split_words(seed(), SplitDraw::rounding, step, gradients.size());
    }
    const Bytes tensor = write_cut_tensor(gradients, width(), settings().gradients, random);
    say(split_message(kSplitFeatureParty, SplitMessage::gradients, step, tensor));
    step_is_done(heard, tensor);
  }

  LabelTargets targets_;
  std::vector<double> loss_sums_;  // of each epoch, over its steps
};

}  // namespace

Result<std::unique_ptr<SplitTraining>> start_label_split(SplitRun run, const Model& network, SplitInputs inputs,
                                                         const std::vector<float>& labels) {
  COT_TRY(check_split_parts(run, network, inputs, 1));
  bool fits = labels.size() == inputs.rows;
  for (const float label : labels) fits = fits && (label == 0 || label == 1);
  const uint32_t steps_an_epoch = (inputs.rows + run.settings.batch - 1) / run.settings.batch;
  if (!fits || run.from.losses.size() != (run.from.steps + steps_an_epoch - 1) / steps_an_epoch) {
    return Error(ErrorCode::invalid_argument, "split: expected a label of 0 or 1 for each of " +
                                                  std::to_string(inputs.rows) +
                                                  " rows, and a checkpoint of this training");
  }
  LabelTargets targets = label_targets(labels, run.settings.label_epsilon, run.seed);
  COT_ASSIGN(PartTrainer trainer, PartTrainer::create(network, part_options(run.settings, {0})));
  auto machine = std::make_unique<LabelMachine>(std::move(run), network, std::move(inputs), std::move(trainer),
                                                std::move(targets));
  COT_TRY(machine->begin());
  return std::unique_ptr<SplitTraining>(std::move(machine));
}

}  // namespace coterie::vertical

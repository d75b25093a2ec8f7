#include <array>
#include <string>
#include <utility>

#include "secure/crypto/sha256.h"
#include "vertical/split/activation_noise.h"
#include "vertical/split/split_party.h"

namespace coterie::vertical {
namespace {

class FeatureMachine final : public SplitParty {
 public:
  FeatureMachine(SplitRun run, const Model& network, SplitInputs inputs, PartTrainer trainer,
                 std::optional<ActivationNoise> noise)
      : SplitParty(std::move(run), network, std::move(inputs), std::move(trainer)), noise_(std::move(noise)) {}

  Status begin() {
    COT_TRY(restore());
    said_steps_ = steps_done();
    return say_what_may_fly();
  }

  Status receive(const Message& message) override {
    if (in_flight_.empty()) return unexpected(message);
    const uint32_t step = steps_done();
    const std::span<const uint32_t> rows = order().rows(step);
    COT_ASSIGN(std::vector<float> gradients, read_split_message(message, {.from = kSplitLabelParty,
                                                                          .kind = SplitMessage::gradients,
                                                                          .step = step,
                                                                          .rows = rows.size(),
                                                                          .width = width(),
                                                                          .encoding = settings().gradients}));
    // With others behind it in flight, the batch's values are no longer there, and the weights are newer ones.
    if (computed_ != step) COT_TRY(compute(step));
    if (noise_) {
      for (size_t first = 0; first < gradients.size(); first += width()) {
        const double factor = noise_->factor(std::span(activations_).subspan(first, width()));
        for (size_t i = first; i < first + width(); ++i) {
          gradients[i] = static_cast<float>(double{gradients[i]} * factor);
        }
      }
    }
    COT_TRY(trainer().backward(gradients, {}));
    computed_ = kNone;
    if (!all_are_finite(trainer().parameters())) return split_diverged(step);
    const Digest said = in_flight_.front();
    in_flight_.pop_front();
    step_is_done(said, tensor_of(message));
    return say_what_may_fly();
  }

  std::vector<double> losses() const override { return {}; }

 private:
  static constexpr uint32_t kNone = ~0u;

  static Status unexpected(const Message& message) {
    return Error(ErrorCode::malformed, "split: party " + std::to_string(message.peer) + " sent kind " +
                                           std::to_string(message.kind) + " when nothing was in flight");
  }

  Status compute(uint32_t step) {
    const std::vector<float> values = inputs().gather(order().rows(step));
    const std::array<std::span<const float>, 1> given{values};
    activations_.resize(order().rows_of(step) * width());
    COT_TRY(trainer().forward(given, order().rows_of(step), activations_));
    computed_ = step;
    return all_are_finite(activations_) ? Status() : split_diverged(step);
  }

  // Up to a checkpoint, where none is in flight.
  Status say_what_may_fly() {
    const uint32_t commit = settings().commit_steps;
    const uint64_t checkpoint = (uint64_t{steps_done()} / commit + 1) * commit;
    while (said_steps_ < order().steps() && said_steps_ < checkpoint &&
           said_steps_ - steps_done() < settings().in_flight) {
      const uint32_t step = said_steps_++;
      COT_TRY(compute(step));
      std::vector<float> told = activations_;
      if (noise_) noise_->release(told, width(), seed(), SplitDraw::activation_noise, step);
      std::vector<uint64_t> random;
      if (settings().activations != CutEncoding::float32) {
        random = split_words(seed(), SplitDraw::rounding, step, told.size());
      }
      const Bytes tensor = write_cut_tensor(told, width(), settings().activations, random);
      in_flight_.push_back(sha256(tensor));
      say(split_message(kSplitLabelParty, SplitMessage::activations, step, tensor));
    }
    return {};
  }

  std::optional<ActivationNoise> noise_;
  std::vector<float> activations_;  // of the step that was computed last, before noise
  uint32_t computed_ = kNone;       // that step, if its backward is still to come
  uint32_t said_steps_ = 0;
  std::deque<Digest> in_flight_;  // of what was said and not answered
};

}  // namespace

Result<std::unique_ptr<SplitTraining>> start_feature_split(SplitRun run, const Model& network, SplitInputs inputs) {
  COT_TRY(check_split_parts(run, network, inputs, 0));
  COT_ASSIGN(PartTrainer trainer, PartTrainer::create(network, part_options(run.settings, {})));
  std::optional<ActivationNoise> noise;
  if (run.settings.hides_features()) {
    COT_ASSIGN(noise, ActivationNoise::make(run.settings, uint64_t{inputs.rows} * run.settings.epochs));
  }
  auto machine = std::make_unique<FeatureMachine>(std::move(run), network, std::move(inputs), std::move(trainer),
                                                  std::move(noise));
  COT_TRY(machine->begin());
  return std::unique_ptr<SplitTraining>(std::move(machine));
}

}  // namespace coterie::vertical

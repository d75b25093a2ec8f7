#include "vertical/split/predict_split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "device_sdk/runtime/predictor.h"
#include "vertical/split/activation_noise.h"
#include "vertical/split/split_party.h"

namespace coterie::vertical {
namespace {

// Rows of message `number`.
std::vector<uint32_t> rows_of_message(uint32_t number, uint32_t batch, uint32_t rows) {
  std::vector<uint32_t> numbers;
  for (uint32_t row = number * batch; row < std::min<uint64_t>(rows, (uint64_t{number} + 1) * batch); ++row) {
    numbers.push_back(row);
  }
  return numbers;
}

class FeatureScoring final : public Stage {
 public:
  FeatureScoring(const SplitSettings& settings, Predictor predictor, SplitInputs inputs, Secret<32> seed,
                 std::optional<ActivationNoise> noise)
      : settings_(settings),
        predictor_(std::move(predictor)),
        inputs_(std::move(inputs)),
        seed_(std::move(seed)),
        noise_(std::move(noise)) {}

  std::optional<Message> next() override {
    if (done()) return std::nullopt;
    const uint32_t number = said_++;
    const std::vector<uint32_t> rows = rows_of_message(number, settings_.batch, inputs_.rows);
    const std::vector<float> values = inputs_.gather(rows);
    const size_t width = cut_width(settings_);
    std::vector<float> cut(rows.size() * width);
    const std::array<std::span<const float>, 1> given{values};
    // Sizes and codes are checked by start_feature_split_scoring().
    COT_ASSERT(predictor_.run(given, rows.size(), cut).has_value());
    if (noise_) noise_->release(cut, width, seed_, SplitDraw::scored_noise, number);
    std::vector<uint64_t> random;
    if (settings_.activations != CutEncoding::float32) {
      random = split_words(seed_, SplitDraw::scored_rounding, number, cut.size());
    }
    return split_message(kSplitLabelParty, SplitMessage::scored, number,
                         write_cut_tensor(cut, width, settings_.activations, random));
  }
  Status receive(const Message& message) override {
    return Error(ErrorCode::malformed, "split: party " + std::to_string(message.peer) +
                                           " spoke in a prediction, where it has nothing to say");
  }
  bool done() const override { return uint64_t{said_} * settings_.batch >= inputs_.rows; }

 private:
  SplitSettings settings_;
  Predictor predictor_;
  SplitInputs inputs_;
  Secret<32> seed_;
  std::optional<ActivationNoise> noise_;
  uint32_t said_ = 0;
};

class LabelScoringMachine final : public SplitScoring {
 public:
  LabelScoringMachine(const SplitSettings& settings, Predictor predictor, SplitInputs inputs)
      : settings_(settings), predictor_(std::move(predictor)), inputs_(std::move(inputs)) {}

  std::optional<Message> next() override { return std::nullopt; }
  Status receive(const Message& message) override {
    if (done()) return Error(ErrorCode::malformed, "split: a message came behind the last row");
    const auto number = static_cast<uint32_t>(scores_.size() / settings_.batch);
    const std::vector<uint32_t> rows = rows_of_message(number, settings_.batch, inputs_.rows);
    COT_ASSIGN(const std::vector<float> cut, read_split_message(message, {.from = kSplitFeatureParty,
                                                                          .kind = SplitMessage::scored,
                                                                          .step = number,
                                                                          .rows = rows.size(),
                                                                          .width = cut_width(settings_),
                                                                          .encoding = settings_.activations}));
    const std::vector<float> own = inputs_.gather(rows);
    std::vector<std::span<const float>> given{cut};
    if (inputs_.schema.columns > 0) given.push_back(own);
    std::vector<float> logits(rows.size());
    COT_TRY(predictor_.run(given, rows.size(), logits));
    if (!all_are_finite(logits)) return Error(ErrorCode::malformed, "split: a score is not finite");
    for (const float logit : logits) {
      scores_.push_back(static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logit)))));
    }
    return {};
  }
  bool done() const override { return scores_.size() == inputs_.rows; }
  const std::vector<float>& scores() const override { return scores_; }

 private:
  SplitSettings settings_;
  Predictor predictor_;
  SplitInputs inputs_;
  std::vector<float> scores_;
};

struct LoadedPart {
  SplitInputs inputs;
  Predictor predictor;
};

Result<LoadedPart> load_part(const SplitModel& model, const std::vector<std::vector<float>>& columns, uint32_t rows,
                             size_t own_input) {
  COT_ASSIGN(SplitInputs inputs, encode_columns(model.columns, columns, rows));
  COT_ASSIGN(const Model network, Model::load(model.network));
  COT_TRY(check_split_parts({.settings = model.settings, .order = {}, .seed = {}}, network, inputs, own_input));
  COT_ASSIGN(Predictor predictor, Predictor::create(network, model.settings.batch));
  return LoadedPart{.inputs = std::move(inputs), .predictor = std::move(predictor)};
}

}  // namespace

Result<std::unique_ptr<Stage>> start_feature_split_scoring(const SplitModel& model,
                                                           const std::vector<std::vector<float>>& columns,
                                                           uint32_t rows, Secret<32> seed) {
  COT_ASSIGN(LoadedPart part, load_part(model, columns, rows, 0));
  std::optional<ActivationNoise> noise;
  if (model.settings.hides_features()) {
    COT_ASSIGN(noise, ActivationNoise::make(model.settings, rows));
  }
  return std::unique_ptr<Stage>(std::make_unique<FeatureScoring>(
      model.settings, std::move(part.predictor), std::move(part.inputs), std::move(seed), std::move(noise)));
}

Result<std::unique_ptr<SplitScoring>> start_label_split_scoring(const SplitModel& model,
                                                                const std::vector<std::vector<float>>& columns,
                                                                uint32_t rows) {
  COT_ASSIGN(LoadedPart part, load_part(model, columns, rows, 1));
  return std::unique_ptr<SplitScoring>(
      std::make_unique<LabelScoringMachine>(model.settings, std::move(part.predictor), std::move(part.inputs)));
}

}  // namespace coterie::vertical

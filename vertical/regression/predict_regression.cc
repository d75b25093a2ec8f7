#include "vertical/regression/predict_regression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "vertical/regression/regression_messages.h"

namespace coterie::vertical {
namespace {

constexpr size_t kScoresMax = 1u << 16;  // of a message

Status check_scored(const RegressionColumns& columns, const RegressionModel& model, uint32_t rows) {
  bool fits = columns.size() == model.columns.size() && rows >= 1 && rows <= kRegressionRowsMax;
  for (const auto& column : columns) fits = fits && column.size() == rows;
  if (fits) return {};
  return Error(ErrorCode::invalid_argument, "regression: the model has " + std::to_string(model.columns.size()) +
                                                " columns, expected these with a value for each of " +
                                                std::to_string(rows) + " rows");
}

class LabelScoringMachine final : public LabelScoring {
 public:
  LabelScoringMachine(std::vector<double> margins, ScoreKind kind) : margins_(std::move(margins)), kind_(kind) {}

  std::optional<Message> next() override { return std::nullopt; }

  Status receive(const Message& message) override {
    const size_t count = std::min(kScoresMax, margins_.size() - scores_.size());
    const auto number = static_cast<uint32_t>(scores_.size() / kScoresMax);
    COT_ASSIGN(const std::vector<Word> words, read_word_message(message, RegressionMessage::scores, number, count));
    for (const Word word : words) {
      const auto theirs = std::bit_cast<double>(word);
      // A NaN would go into the score and look like a result.
      if (!std::isfinite(theirs)) {
        return Error(ErrorCode::malformed, "regression: party " + std::to_string(message.peer) +
                                               " adds something that is no number to row " +
                                               std::to_string(scores_.size()));
      }
      const double sum = margins_[scores_.size()] + theirs;
      const auto score = static_cast<float>(kind_ == ScoreKind::value ? sum : sigmoid(sum));
      if (!std::isfinite(score)) {
        return Error(ErrorCode::malformed, "regression: with what party " + std::to_string(message.peer) +
                                               " adds the score of row " + std::to_string(scores_.size()) +
                                               " is beyond a float");
      }
      scores_.push_back(score);
    }
    return {};
  }

  bool done() const override { return scores_.size() == margins_.size(); }
  const std::vector<float>& scores() const override { return scores_; }

 private:
  std::vector<double> margins_;
  ScoreKind kind_;
  std::vector<float> scores_;
};

class FeatureScoringMachine final : public Stage {
 public:
  explicit FeatureScoringMachine(std::vector<double> margins) : margins_(std::move(margins)) {}

  std::optional<Message> next() override {
    if (done()) return std::nullopt;
    const size_t count = std::min(kScoresMax, margins_.size() - said_);
    std::vector<Word> words;
    for (size_t i = 0; i < count; ++i) words.push_back(std::bit_cast<Word>(margins_[said_ + i]));
    const auto number = static_cast<uint32_t>(said_ / kScoresMax);
    said_ += count;
    return word_message(0, RegressionMessage::scores, number, {words});
  }

  Status receive(const Message& message) override {
    return Error(ErrorCode::malformed,
                 "regression: party " + std::to_string(message.peer) + " sent something, expected nothing");
  }

  bool done() const override { return said_ == margins_.size(); }

 private:
  std::vector<double> margins_;
  size_t said_ = 0;
};

}  // namespace

Result<std::unique_ptr<LabelScoring>> LabelScoring::start(const RegressionColumns& columns,
                                                          const RegressionModel& model, uint32_t rows, ScoreKind kind) {
  COT_TRY(check_scored(columns, model, rows));
  return std::unique_ptr<LabelScoring>(
      std::make_unique<LabelScoringMachine>(partial_margins(model, columns, rows), kind));
}

Result<std::unique_ptr<Stage>> start_feature_scoring(const RegressionColumns& columns, const RegressionModel& model,
                                                     uint32_t rows) {
  COT_TRY(check_scored(columns, model, rows));
  return std::unique_ptr<Stage>(std::make_unique<FeatureScoringMachine>(partial_margins(model, columns, rows)));
}

}  // namespace coterie::vertical

#include <algorithm>
#include <optional>
#include <string>

#include "vertical/regression/regression_messages.h"
#include "vertical/regression/train_regression.h"

namespace coterie::vertical {
namespace {

// Each says its own; whoever speaks first does not matter.
class ShapeMachine final : public ShapeAgreement {
 public:
  ShapeMachine(const RegressionShape& own, PartyIndex party) : shape_(own), party_(party) {}

  std::optional<Message> next() override {
    if (is_said_) return std::nullopt;
    is_said_ = true;
    const Word words[] = {shape_.rows, party_ == 0 ? shape_.label_columns : shape_.feature_columns};
    return word_message(1 - party_, RegressionMessage::shape, 0, {words});
  }

  Status receive(const Message& message) override {
    if (is_heard_) return expect_regression_message(message, RegressionMessage::columns);
    COT_ASSIGN(const std::vector<Word> words, read_word_message(message, RegressionMessage::shape, 0, 2));
    if (words[0] != shape_.rows) {
      return Error(ErrorCode::malformed, "regression: the peer trains on " + std::to_string(words[0]) +
                                             " rows, this party on " + std::to_string(shape_.rows));
    }
    // What does not fit 32 bits is out of range as well.
    const auto columns = static_cast<uint32_t>(std::min<Word>(words[1], kRegressionColumnsMax + 1));
    (party_ == 0 ? shape_.feature_columns : shape_.label_columns) = columns;
    is_heard_ = true;
    return check_regression_shape(shape_);
  }

  bool done() const override { return is_said_ && is_heard_; }
  const RegressionShape& shape() const override { return shape_; }

 private:
  RegressionShape shape_;
  PartyIndex party_;
  bool is_said_ = false, is_heard_ = false;
};

}  // namespace

Result<std::unique_ptr<ShapeAgreement>> start_shape(uint32_t rows, const RegressionColumns& columns, PartyIndex party,
                                                    const RegressionSettings& settings) {
  COT_TRY(check_regression_settings(settings));
  RegressionShape own{.rows = rows, .label_columns = 1, .feature_columns = 1};
  own.batch = settings.batch;
  own.epochs = settings.epochs;
  if (columns.size() >= kRegressionColumnsMax || (party == 1 && columns.empty())) {
    return Error(ErrorCode::invalid_argument, "regression: this party has " + std::to_string(columns.size()) +
                                                  " columns; the feature party has at least 1, each party fewer than " +
                                                  std::to_string(kRegressionColumnsMax));
  }
  const auto count = static_cast<uint32_t>(columns.size());
  (party == 0 ? own.label_columns : own.feature_columns) = party == 0 ? count + 1 : count;
  COT_TRY(check_regression_shape(own));
  return std::unique_ptr<ShapeAgreement>(std::make_unique<ShapeMachine>(own, party));
}

}  // namespace coterie::vertical

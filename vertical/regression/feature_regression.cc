#include <string>
#include <utility>

#include "vertical/regression/regression_party.h"

namespace coterie::vertical {
namespace {

// A step: weights in, margins out, residuals in, gradients out. The next weights come with what changes these.
class FeatureMachine final : public RegressionParty {
 public:
  using RegressionParty::RegressionParty;

 private:
  void begin() override {}

  void begin_step() override {
    const std::vector<Word> weights = share().masked_peer_weights();
    margins_ = share().masked_margins(opened_weights_);
    say(RegressionMessage::margins, {weights, margins_});
    waits_for_residuals_ = true;
  }

  Status hear(const Message& message) override {
    if (waits_for_residuals_) return hear_residuals(message);
    if (message.kind == static_cast<uint16_t>(RegressionMessage::stop)) {
      COT_TRY(read_word_message(message, RegressionMessage::stop, step(), 0));
      return Error(ErrorCode::refused,
                   "regression: in step " + std::to_string(step()) +
                       " too many rows had left the range of the sigmoid; lower the rate, or raise lambda",
                   "margins_out_of_range");
    }
    const size_t changes = has_begun_ ? plan().shape().columns() : 0;
    // Weights and what changes the last ones come in one message: a step is one turn each way.
    const bool is_over = has_begun_ && is_last_step();
    const uint32_t next = has_begun_ && !is_over ? step() + 1 : step();
    COT_ASSIGN(const std::vector<Word> words,
               read_word_message(message, is_over ? RegressionMessage::last : RegressionMessage::weights, next,
                                 changes + share().own_columns()));
    if (has_begun_) {
      share().change_weights(std::span(words).first(changes));
      step_is_done();
    }
    const std::span<const Word> weights = std::span(words).subspan(changes);
    if (is_over) {
      say(RegressionMessage::label_weights, {share().peer_weights()});
      finish(weights);
      return {};
    }
    opened_weights_.assign(weights.begin(), weights.end());
    has_begun_ = true;
    ask_for_step(next);
    return {};
  }

  Status hear_residuals(const Message& message) {
    const size_t rows = plan().rows_of(step());
    COT_ASSIGN(const std::vector<Word> words,
               read_word_message(message, RegressionMessage::residuals, step(), 2 * rows));
    const std::vector<Word> residuals = share().masked_residuals(std::span(words).first(rows));
    const std::vector<Word> changes = share().masked_changes(std::span(words).subspan(rows));
    const Word edge[] = {share().edge_share()};
    say(RegressionMessage::gradients, {residuals, edge, changes});
    waits_for_residuals_ = false;
    return {};
  }

  std::vector<Word> opened_weights_, margins_;
  bool waits_for_residuals_ = false, has_begun_ = false;
};

}  // namespace

Result<std::unique_ptr<RegressionTraining>> start_feature_regression(const RegressionShape& shape,
                                                                     const RegressionSettings& settings,
                                                                     const RegressionColumns& columns,
                                                                     const RegressionCheckpoint& from) {
  COT_TRY(check_regression_settings(settings));
  COT_TRY(check_regression_columns(shape, columns, shape.feature_columns));
  COT_TRY(check_regression_checkpoint(from, shape, 1));
  return std::unique_ptr<RegressionTraining>(
      std::make_unique<FeatureMachine>(shape, settings, PartyIndex{1}, columns, std::vector<float>(), from));
}

}  // namespace coterie::vertical

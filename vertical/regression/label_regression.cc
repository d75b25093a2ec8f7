#include <cmath>
#include <string>
#include <utility>

#include "vertical/regression/regression_party.h"

namespace coterie::vertical {
namespace {

// A step: weights out, margins in, residuals out, gradients in. Its changed weights go out with the next step's.
class LabelMachine final : public RegressionParty {
 public:
  using RegressionParty::RegressionParty;

 private:
  void begin() override { ask_for_step(step()); }

  void begin_step() override {
    say(RegressionMessage::weights, {changes_, share().masked_peer_weights()});
    waits_for_gradients_ = false;
  }

  Status hear(const Message& message) override {
    if (is_last_said_) {
      COT_ASSIGN(const std::vector<Word> words,
                 read_word_message(message, RegressionMessage::label_weights, step(), share().own_columns()));
      finish(words);
      return {};
    }
    return waits_for_gradients_ ? hear_gradients(message) : hear_margins(message);
  }

  Status hear_margins(const Message& message) {
    const size_t rows = plan().rows_of(step()), weights = share().own_columns();
    COT_ASSIGN(const std::vector<Word> words,
               read_word_message(message, RegressionMessage::margins, step(), weights + rows));
    const std::vector<Word> margins = share().masked_margins(std::span(words).first(weights));
    const std::vector<Word> residuals = share().masked_residuals(std::span(words).subspan(weights));
    say(RegressionMessage::residuals, {margins, residuals});
    waits_for_gradients_ = true;
    return {};
  }

  Status hear_gradients(const Message& message) {
    const size_t rows = plan().rows_of(step());
    COT_ASSIGN(const std::vector<Word> words,
               read_word_message(message, RegressionMessage::gradients, step(), rows + 1 + plan().shape().columns()));
    // Beyond the edge of the series training would go wrong in silence. So the rows near it are counted, as a sum of
    // which neither party sees a term.
    if (const double edge_rows = share().edge_rows(words[rows]); !(edge_rows <= kEdgeRowsMax)) {
      say(RegressionMessage::stop, {});
      give_up(edge_rows);
      return {};
    }
    changes_ = share().masked_changes(std::span(words).first(rows));
    share().change_weights(std::span(words).subspan(rows + 1));
    step_is_done();
    if (is_last_step()) {
      say(RegressionMessage::last, {changes_, share().peer_weights()});
      is_last_said_ = true;
    } else {
      ask_for_step(step() + 1);
    }
    return {};
  }

  std::vector<Word> changes_;  // masked, of the step before
  bool waits_for_gradients_ = false, is_last_said_ = false;
};

}  // namespace

Result<std::unique_ptr<RegressionTraining>> start_label_regression(const RegressionShape& shape,
                                                                   const RegressionSettings& settings,
                                                                   const RegressionColumns& columns,
                                                                   std::vector<float> labels,
                                                                   const RegressionCheckpoint& from) {
  COT_TRY(check_regression_settings(settings));
  COT_TRY(check_regression_columns(shape, columns, shape.label_columns - 1));
  COT_TRY(check_regression_checkpoint(from, shape, 0));
  bool fits = labels.size() == shape.rows;
  for (const float label : labels) fits = fits && (label == 0 || label == 1);
  if (!fits) {
    return Error(ErrorCode::invalid_argument,
                 "regression: expected a label of 0 or 1 for each of " + std::to_string(shape.rows) + " rows");
  }
  return std::unique_ptr<RegressionTraining>(
      std::make_unique<LabelMachine>(shape, settings, PartyIndex{0}, columns, std::move(labels), from));
}

}  // namespace coterie::vertical

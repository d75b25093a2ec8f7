#include "vertical/regression/regression_party.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace coterie::vertical {
namespace {

constexpr size_t kColumnWordsMax = 1u << 16;  // of a message of columns

// [row][column] at scale kColumnBits; the label party's intercept is a last column of ones.
std::vector<int32_t> ring_columns(const RegressionModel& model, const RegressionColumns& columns, size_t rows,
                                  bool has_intercept) {
  const size_t width = columns.size() + (has_intercept ? 1 : 0);
  std::vector<int32_t> cells(rows * width, 1 << kColumnBits);
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t row = 0; row < rows; ++row) {
      const double value = standardised(model.columns[c], columns[c][row]);
      cells[row * width + c] = static_cast<int32_t>(std::lround(std::ldexp(value, kColumnBits)));
    }
  }
  return cells;
}

}  // namespace

Status check_regression_columns(const RegressionShape& shape, const RegressionColumns& columns, size_t expected) {
  COT_TRY(check_regression_shape(shape));
  bool fits = columns.size() == expected;
  for (const auto& column : columns) fits = fits && column.size() == shape.rows;
  if (fits) return {};
  return Error(ErrorCode::invalid_argument, "regression: expected " + std::to_string(expected) + " columns of " +
                                                std::to_string(shape.rows) + " rows each");
}

RegressionParty::RegressionParty(const RegressionShape& shape, const RegressionSettings& settings, PartyIndex party,
                                 const RegressionColumns& columns, std::vector<float> labels,
                                 const RegressionCheckpoint& from)
    : plan_(shape),
      settings_(settings),
      party_(party),
      model_(scale_columns(columns)),
      columns_(ring_columns(model_, columns, shape.rows, party == 0)),
      labels_(std::move(labels)),
      from_(from),
      step_(from.steps),
      steps_done_(from.steps),
      cells_(columns_.size()),
      peer_cells_(size_t{shape.rows} * (party == 0 ? shape.feature_columns : shape.label_columns)) {}

std::optional<Message> RegressionParty::next() {
  if (share_ && sent_ < cells_) return next_columns();
  if (outbox_.empty()) return std::nullopt;
  Message message = std::move(outbox_.front());
  outbox_.pop_front();
  return message;
}

std::optional<Message> RegressionParty::next_columns() {
  if (party_ != 0 && heard_ < peer_cells_) return std::nullopt;
  const size_t count = std::min(kColumnWordsMax, cells_ - sent_);
  Message message = word_message(peer(), RegressionMessage::columns, 0, {share_->masked_columns(sent_, count)});
  sent_ += count;
  if (columns_are_exchanged()) begin();
  return message;
}

Status RegressionParty::receive(const Message& message) {
  if (message.peer != awaits() || is_over_) {
    return Error(ErrorCode::malformed, "regression: party " + std::to_string(message.peer) +
                                           " sent something, expected " +
                                           (is_over_ ? "nothing any more" : "party " + std::to_string(awaits())));
  }
  if (message.peer == kDealer) return hear_dealer(message);
  if (!columns_are_exchanged()) return hear_columns(message);
  return hear(message);
}

Status RegressionParty::hear_dealer(const Message& message) {
  if (!share_) {
    COT_ASSIGN(Secret<32> seed, read_dealt_seed(message));
    share_.emplace(plan_.shape(), settings_, party_, std::exchange(columns_, {}), std::exchange(labels_, {}),
                   std::move(seed));
    if (from_.steps > 0) share_->restore(std::exchange(from_, {}));
    return {};
  }
  COT_TRY(dealt_->take(message));
  if (!dealt_->is_complete()) return {};
  share_->begin_step(step_, std::move(*dealt_));
  dealt_.reset();
  begin_step();
  return {};
}

Status RegressionParty::hear_columns(const Message& message) {
  const size_t count = std::min(kColumnWordsMax, peer_cells_ - heard_);
  COT_ASSIGN(const std::vector<Word> words, read_word_message(message, RegressionMessage::columns, 0, count));
  share_->take_peer_columns(words);
  heard_ += count;
  if (columns_are_exchanged()) begin();
  return {};
}

void RegressionParty::step_is_done() {
  ++steps_done_;
  // After the last step the model itself is what is kept.
  if (steps_done_ % kCheckpointSteps != 0 || steps_done_ == plan_.steps()) return;
  const std::span<const Word> own = share_->own_weights(), peer = share_->peer_weights();
  checkpoint_ = RegressionCheckpoint{.steps = steps_done_,
                                     .own_weights = {own.begin(), own.end()},
                                     .peer_weights = {peer.begin(), peer.end()},
                                     .opened = share_->opened()};
}

void RegressionParty::finish(std::span<const Word> peer_shares) {
  const std::span<const Word> own = share_->own_weights();
  for (size_t c = 0; c < own.size(); ++c) {
    const double weight = from_ring(own[c] + peer_shares[c], kWeightBits);
    (c < model_.columns.size() ? model_.columns[c].weight : model_.intercept) = weight;
  }
  is_over_ = true;
}

void RegressionParty::give_up(double edge_rows) {
  edge_rows_ = edge_rows;
  is_over_ = true;
}

Result<RegressionModel> RegressionParty::model() const {
  COT_ASSERT(done());
  if (!edge_rows_) return model_;
  return Error(ErrorCode::refused,
               "regression: in step " + std::to_string(step_) + " about " +
                   std::to_string(std::lround(100 * std::clamp(*edge_rows_, 0.0, 1.0))) +
                   " % of the rows had left the range of the sigmoid; lower the rate, or raise lambda",
               "margins_out_of_range");
}

}  // namespace coterie::vertical

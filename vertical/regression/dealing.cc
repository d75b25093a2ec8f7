#include "vertical/regression/dealing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "vertical/regression/fourier_sigmoid.h"
#include "vertical/regression/masked_truncation.h"

namespace coterie::vertical {

Result<Dealing> Dealing::make(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed,
                              Secret<32> feature_seed, uint32_t first_step) {
  COT_TRY(check_regression_shape(shape));
  if (first_step >= RingPlan(shape).steps()) {
    return Error(ErrorCode::invalid_argument, "regression: step " + std::to_string(first_step) + " of " +
                                                  std::to_string(RingPlan(shape).steps()) + " cannot be dealt");
  }
  return Dealing(shape, to, std::move(label_seed), std::move(feature_seed), first_step);
}

Dealing::Dealing(const RegressionShape& shape, PartyIndex to, Secret<32> label_seed, Secret<32> feature_seed,
                 uint32_t first_step)
    : plan_(shape),
      to_(to),
      own_seed_(to == 0 ? std::move(label_seed) : std::move(feature_seed)),
      peer_seed_(to == 0 ? std::move(feature_seed) : std::move(label_seed)),
      step_(first_step) {}

uint32_t Dealing::peer_columns() const {
  return is_label() ? plan_.shape().feature_columns : plan_.shape().label_columns;
}

std::optional<Message> Dealing::next() {
  if (!is_seed_sent_) {
    is_seed_sent_ = true;
    const auto seed = own_seed_.reveal();
    return Message{.peer = to_,
                   .kind = static_cast<uint16_t>(RegressionMessage::dealt_seed),
                   .payload = Bytes(seed.begin(), seed.end())};
  }
  if (step_ == plan_.steps()) return std::nullopt;
  if (row_ == 0) begin_step();
  return row_ < plan_.rows_of(step_) ? chunk() : end_of_step();
}

void Dealing::begin_step() {
  // Masks are drawn from seeds that each party has as well: the dealer sends the seed once, and then only what cannot
  // be drawn (Beaver 1991: shares of products of masks).
  weight_masks_ = mask_words(own_seed_, MaskUse::weights, step_, 0, peer_columns());
  gradient_.assign(peer_columns(), 0);
}

Message Dealing::chunk() {
  const uint32_t rows = std::min(kChunkRows, plan_.rows_of(step_) - row_), number = row_ / kChunkRows;
  const size_t columns = peer_columns();
  const auto masks = mask_words(peer_seed_, MaskUse::columns, plan_.batch_of(step_), number, rows * columns);
  const auto residuals = mask_words(own_seed_, MaskUse::residual, step_, number, rows);
  std::vector<Word> margins = mask_words(peer_seed_, MaskUse::margin_share, step_, number, rows);
  for (uint32_t row = 0; row < rows; ++row) {
    const Word* const of_row = &masks[row * columns];
    Word product = 0;
    for (size_t column = 0; column < columns; ++column) {
      product += of_row[column] * weight_masks_[column];
      gradient_[column] += of_row[column] * residuals[row];
    }
    // Two shares of the product: one party draws its share, the other gets the difference.
    margins[row] = product - margins[row];
  }
  std::vector<Word> sines;
  // Shares that both need are drawn by the label party and sent to the feature party.
  if (!is_label()) {
    sines = mask_words(peer_seed_, MaskUse::sine_share, step_, number, rows * kSineWords);
    const auto own = mask_words(own_seed_, MaskUse::margin, step_, number, rows);
    const auto peer = mask_words(peer_seed_, MaskUse::margin, step_, number, rows);
    for (uint32_t row = 0; row < rows; ++row) {
      const auto whole = sines_of_mask(own[row] + peer[row], plan_.sine_bits());
      for (size_t i = 0; i < kSineWords; ++i) sines[row * kSineWords + i] = whole[i] - sines[row * kSineWords + i];
    }
  }
  row_ += rows;
  return word_message(to_, RegressionMessage::dealt_words, step_, {margins, sines});
}

Message Dealing::end_of_step() {
  const auto shares = mask_words(peer_seed_, MaskUse::gradient_share, step_, 0, peer_columns());
  for (size_t column = 0; column < gradient_.size(); ++column) gradient_[column] -= shares[column];
  std::vector<Word> changes;
  if (!is_label()) {
    const size_t columns = plan_.shape().columns();
    changes = mask_words(peer_seed_, MaskUse::change_share, step_, 0, columns * kTruncationWords);
    const auto own = mask_words(own_seed_, MaskUse::change, step_, 0, columns);
    const auto peer = mask_words(peer_seed_, MaskUse::change, step_, 0, columns);
    for (size_t column = 0; column < columns; ++column) {
      const TruncationShare whole = truncation_of_mask(own[column] + peer[column]);
      changes[2 * column] = whole.high - changes[2 * column];
      changes[2 * column + 1] = whole.top - changes[2 * column + 1];
    }
  }
  row_ = 0;
  return word_message(to_, RegressionMessage::dealt_words, step_++, {gradient_, changes});
}

DealtStep::DealtStep(const RingPlan& plan, PartyIndex party, uint32_t step)
    : is_feature_(party != 0),
      step_(step),
      rows_(plan.rows_of(step)),
      columns_(plan.shape().columns()),
      peer_columns_(party == 0 ? plan.shape().feature_columns : plan.shape().label_columns) {}

Status DealtStep::take(const Message& message) {
  const bool is_end = row_ == rows_;
  const size_t rows = std::min(kChunkRows, rows_ - row_);
  const size_t first = is_end ? peer_columns_ : rows;
  const size_t second = !is_feature_ ? 0 : is_end ? columns_ * kTruncationWords : rows * kSineWords;
  COT_ASSIGN(const std::vector<Word> words,
             read_word_message(message, RegressionMessage::dealt_words, step_, first + second));
  const auto middle = words.begin() + static_cast<ptrdiff_t>(first);
  std::vector<Word>& firsts = is_end ? gradient : margins;
  std::vector<Word>& seconds = is_end ? changes : sines;
  firsts.insert(firsts.end(), words.begin(), middle);
  seconds.insert(seconds.end(), middle, words.end());
  row_ += static_cast<uint32_t>(rows);
  is_complete_ = is_end;
  return {};
}

Result<Secret<32>> read_dealt_seed(const Message& message) {
  COT_TRY(expect_regression_message(message, RegressionMessage::dealt_seed));
  if (message.payload.size() != Secret<32>::kSize) {
    return Error(ErrorCode::malformed,
                 "regression: the dealer's seed has " + std::to_string(message.payload.size()) + " bytes, expected 32");
  }
  return Secret<32>(std::span<const uint8_t, 32>(message.payload.data(), 32));
}

}  // namespace coterie::vertical

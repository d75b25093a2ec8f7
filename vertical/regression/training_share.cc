#include "vertical/regression/training_share.h"

#include <cmath>
#include <utility>

#include "base/assert.h"
#include "secure/crypto/sha256.h"
#include "vertical/regression/mask_stream.h"
#include "vertical/regression/masked_truncation.h"

namespace coterie::vertical {
namespace {

constexpr int kEdgeNoiseBits = 8;  // far below kEdgeRowsMax, far above what it covers

Word word_of(int32_t value) { return static_cast<Word>(int64_t{value}); }

}  // namespace

TrainingShare::TrainingShare(const RegressionShape& shape, const RegressionSettings& settings, PartyIndex party,
                             std::vector<int32_t> columns, std::vector<float> labels, Secret<32> seed)
    : plan_(shape),
      settings_(settings),
      party_(party),
      labels_(std::move(labels)),
      seed_(std::move(seed)),
      own_(std::move(columns)),
      own_weights_(party == 0 ? shape.label_columns : shape.feature_columns),
      peer_weights_(party == 0 ? shape.feature_columns : shape.label_columns) {
  COT_ASSERT(own_.size() == shape.rows * own_columns() && (labels_.empty() || labels_.size() == shape.rows));
  peer_size_ = shape.rows * peer_columns();
  own_masks_.reserve(own_.size());
  for (uint32_t batch = 0; batch < plan_.batches(); ++batch) {
    const auto masks = mask_rows(seed_, MaskUse::columns, batch, plan_.rows_of(batch), own_columns());
    own_masks_.insert(own_masks_.end(), masks.begin(), masks.end());
  }
}

std::span<const Word> TrainingShare::masked_columns(size_t first, size_t count) {
  masked_.resize(count);
  for (size_t i = 0; i < count; ++i) masked_[i] = word_of(own_[first + i]) - own_masks_[first + i];
  return masked_;
}

void TrainingShare::take_peer_columns(std::span<const Word> words) {
  peer_.insert(peer_.end(), words.begin(), words.end());
  COT_ASSERT(peer_.size() <= peer_size_);
}

void TrainingShare::restore(const RegressionCheckpoint& checkpoint) {
  COT_ASSERT(checkpoint.own_weights.size() == own_columns() && checkpoint.peer_weights.size() == peer_columns());
  own_weights_ = checkpoint.own_weights;
  peer_weights_ = checkpoint.peer_weights;
  opened_ = checkpoint.opened;
}

void TrainingShare::begin_step(uint32_t step, DealtStep dealt) {
  COT_ASSERT(dealt.is_complete());
  step_ = step;
  rows_ = plan_.rows_of(step);
  first_ = plan_.first_row(step);
  dealt_ = std::move(dealt);
}

std::vector<Word> TrainingShare::masked_peer_weights() const {
  std::vector<Word> masked = mask_words(seed_, MaskUse::weights, step_, 0, peer_columns());
  for (size_t column = 0; column < masked.size(); ++column) masked[column] = peer_weights_[column] - masked[column];
  return masked;
}

std::vector<Word> TrainingShare::masked_margins(std::span<const Word> opened_weights) {
  std::vector<Word> margins = mask_rows(seed_, MaskUse::margin_share, step_, rows_, 1);
  const std::vector<Word> masks = mask_rows(seed_, MaskUse::margin, step_, rows_, 1);
  const size_t own = own_columns(), peer = peer_columns();
  for (size_t i = 0; i < rows_; ++i) {
    const int32_t* const values = &own_[(first_ + i) * own];
    const Word* const value_masks = &own_masks_[(first_ + i) * own];
    const Word* const peer_values = &peer_[(first_ + i) * peer];
    // The header's formula twice: for this party's columns with the peer's share of their weights, and for the peer's
    // columns with this party's share. What was dealt is U r; masks hide the sum from the peer.
    Word sum = margins[i] + dealt_->margins[i] - masks[i];
    for (size_t c = 0; c < own; ++c) sum += word_of(values[c]) * own_weights_[c] + value_masks[c] * opened_weights[c];
    for (size_t c = 0; c < peer; ++c) sum += peer_values[c] * peer_weights_[c];
    margins[i] = sum;
  }
  own_masked_margins_ = margins;
  return margins;
}

std::vector<Word> TrainingShare::masked_residuals(std::span<const Word> peer_masked_margins) {
  const double scale = std::ldexp(settings_.rate / rows_, plan_.batch_bits());
  const FourierSigmoid sigmoid(plan_, scale);
  const std::vector<Word> sines =
      is_label() ? mask_rows(seed_, MaskUse::sine_share, step_, rows_, kSineWords) : std::vector<Word>();
  const std::span<const Word> all = is_label() ? sines : dealt_->sines;
  std::vector<Word> masked = mask_rows(seed_, MaskUse::residual, step_, rows_, 1);
  residuals_.resize(rows_);
  edge_ = 0;
  for (size_t i = 0; i < rows_; ++i) {
    const RowShares row =
        sigmoid.shares(own_masked_margins_[i] + peer_masked_margins[i], all.subspan(i * kSineWords, kSineWords));
    residuals_[i] = row.residual;
    edge_ += row.edge;
    // The shares are of sigmoid(z) - 1/2; one party alone adds 1/2 - label.
    if (is_label()) residuals_[i] += to_ring(scale * (0.5 - double{labels_[first_ + i]}), plan_.residual_bits());
    masked[i] = residuals_[i] - masked[i];
  }
  if (!is_label()) {
    // The sum's last places are rounding errors that depend on masks: noise of up to 2^-kEdgeNoiseBits a row covers
    // them.
    const Word noise = mask_words(seed_, MaskUse::edge, step_, 0, 1)[0];
    edge_ += noise % (Word{rows_} << (plan_.residual_bits() - kEdgeNoiseBits));
  }
  return masked;
}

double TrainingShare::edge_rows(Word peer_edge_share) const {
  return from_ring(edge_ + peer_edge_share, plan_.residual_bits()) / rows_ + kEdgeConstant;
}

std::vector<Word> TrainingShare::masked_changes(std::span<const Word> opened_residuals) {
  const size_t own = own_columns(), peer = peer_columns();
  std::vector<Word> own_part = mask_words(seed_, MaskUse::gradient_share, step_, 0, own);
  std::vector<Word> peer_part = dealt_->gradient;
  for (size_t i = 0; i < rows_; ++i) {
    const int32_t* const values = &own_[(first_ + i) * own];
    const Word* const masks = &own_masks_[(first_ + i) * own];
    const Word* const peer_values = &peer_[(first_ + i) * peer];
    const Word residual = residuals_[i], opened = opened_residuals[i];
    for (size_t c = 0; c < own; ++c) own_part[c] += word_of(values[c]) * residual + masks[c] * opened;
    for (size_t c = 0; c < peer; ++c) peer_part[c] += peer_values[c] * residual;
  }
  // The intercept, which is the label party's last column, is not pulled to 0.
  const auto shrink = static_cast<Word>(std::llround(std::ldexp(settings_.rate * settings_.lambda, kTruncatedBits)));
  const size_t own_shrunk = own - (is_label() ? 1 : 0), peer_shrunk = peer - (is_label() ? 0 : 1);
  for (size_t c = 0; c < own_shrunk; ++c) own_part[c] += shrink * own_weights_[c];
  for (size_t c = 0; c < peer_shrunk; ++c) peer_part[c] += shrink * peer_weights_[c];

  // The label party's columns come first.
  std::vector<Word> changes = is_label() ? own_part : peer_part;
  const std::vector<Word>& rest = is_label() ? peer_part : own_part;
  changes.insert(changes.end(), rest.begin(), rest.end());
  const std::vector<Word> masks = mask_words(seed_, MaskUse::change, step_, 0, changes.size());
  for (size_t c = 0; c < changes.size(); ++c) changes[c] += masks[c];
  own_masked_changes_ = changes;
  return changes;
}

void TrainingShare::change_weights(std::span<const Word> peer_masked_changes) {
  const size_t columns = own_masked_changes_.size();
  const std::vector<Word> dealt =
      is_label() ? mask_words(seed_, MaskUse::change_share, step_, 0, columns * kTruncationWords) : dealt_->changes;
  Bytes chain(opened_.bytes.begin(), opened_.bytes.end());
  std::vector<Word>& label = is_label() ? own_weights_ : peer_weights_;
  std::vector<Word>& feature = is_label() ? peer_weights_ : own_weights_;
  for (size_t c = 0; c < columns; ++c) {
    Word& weight = c < label.size() ? label[c] : feature[c - label.size()];
    const Word opened = own_masked_changes_[c] + peer_masked_changes[c];
    weight -= truncated_share(opened, {.high = dealt[2 * c], .top = dealt[2 * c + 1]}, is_label());
    // Both parties see what is opened: its digest is the same at both while they train the same model, and resuming
    // compares it.
    for (int shift = 0; shift < 64; shift += 8) chain.push_back(static_cast<uint8_t>(opened >> shift));
  }
  opened_ = sha256(chain);
}

}  // namespace coterie::vertical

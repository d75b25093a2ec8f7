// TrainingShare: one party's arithmetic of a training on shares. The two parties' shares add up to the numbers; what a
// function gives to be sent is masked by words that nobody but the dealer has beside the sender.
//
// Products with the party's own columns C, which only it knows, use one mask U of C for all epochs: the peer has C - U.
// For a number v of the peer (its share of weights or residuals) it hears v - r, and
//   C v = U (v - r) + (C - U) v + U r
// has a part that it can compute, one of the peer's, and one that the dealer shares (ring_plan.h has the scales).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "secure/crypto/secret.h"
#include "vertical/regression/dealing.h"
#include "vertical/regression/fourier_sigmoid.h"
#include "vertical/regression/regression_checkpoint.h"
#include "vertical/regression/regression_settings.h"
#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

class TrainingShare {
 public:
  // `columns` are the party's own, [row][column] at scale kColumnBits; the label party's last one is the intercept.
  // `labels` are empty at the feature party.
  TrainingShare(const RegressionShape& shape, const RegressionSettings& settings, PartyIndex party,
                std::vector<int32_t> columns, std::vector<float> labels, Secret<32> seed);

  const RingPlan& plan() const { return plan_; }
  size_t own_columns() const { return own_weights_.size(); }
  size_t peer_columns() const { return peer_weights_.size(); }

  // Before the first step: own columns minus their mask, and the peer's.
  std::span<const Word> masked_columns(size_t first, size_t count);
  void take_peer_columns(std::span<const Word> words);
  bool has_peer_columns() const { return peer_.size() == peer_size_; }

  // A step, in this order. `opened_weights` is the peer's masked share of this party's weights, and so on.
  void begin_step(uint32_t step, DealtStep dealt);
  std::vector<Word> masked_peer_weights() const;
  std::vector<Word> masked_margins(std::span<const Word> opened_weights);
  std::vector<Word> masked_residuals(std::span<const Word> peer_masked_margins);
  Word edge_share() const { return edge_; }  // of the guard's sum over the step's rows
  std::vector<Word> masked_changes(std::span<const Word> opened_residuals);
  void change_weights(std::span<const Word> peer_masked_changes);

  // To go on from; its own_weights and peer_weights fit.
  void restore(const RegressionCheckpoint& checkpoint);
  const Digest& opened() const { return opened_; }

  // Shares, at scale kWeightBits.
  std::span<const Word> own_weights() const { return own_weights_; }
  std::span<const Word> peer_weights() const { return peer_weights_; }
  // The guard's mean of this step, of both shares.
  double edge_rows(Word peer_edge_share) const;

 private:
  bool is_label() const { return party_ == 0; }

  RingPlan plan_;
  RegressionSettings settings_;
  PartyIndex party_;
  std::vector<float> labels_;
  Secret<32> seed_;
  std::vector<int32_t> own_;
  std::vector<Word> own_masks_, peer_;  // [row][column]; peer_ minus its mask
  size_t peer_size_;
  std::vector<Word> masked_;  // what masked_columns() gave last
  std::vector<Word> own_weights_, peer_weights_;

  uint32_t step_ = 0, rows_ = 0;
  size_t first_ = 0;  // row of the step
  std::optional<DealtStep> dealt_;
  std::vector<Word> own_masked_margins_, residuals_, own_masked_changes_;
  Word edge_ = 0;
  Digest opened_;
};

}  // namespace coterie::vertical

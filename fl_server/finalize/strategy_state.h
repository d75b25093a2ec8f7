// StrategyState: what a job's strategy carries from round to round, on its way from the blob of the last round (or its
// start) to the next one. Held whole: value_count floats a vector.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "aggregation/strategy/strategy_settings.h"
#include "base/ids.h"
#include "fl_server/store/blob_store.h"
#include "proto/messages/linear_maps.h"
#include "proto/messages/training_state.h"

namespace coterie {

class StrategyState {
 public:
  // `before` names the state after the last round; without one the vectors are as the rule starts them. data_loss if
  // what is stored is of another model or strategy, or of other clusters (1: the job has none). `settings` outlives
  // this.
  static Result<StrategyState> open(BlobStore& blobs, const std::optional<Digest>& before,
                                    const StrategySettings& settings, uint64_t value_count, uint32_t clusters);

  // Whether begin_round has to be told what is known of the mean, but for what the strategy itself carries.
  bool needs_round() const { return settings_.rule->step_factor != nullptr; }
  // In front of the first tile. `round` has the scalars of the rule; its settings, rounds and state are set here.
  void begin_round(StrategyRound round);

  // Whether the strategy moves linear maps as a whole, and this one: move_matrix() in front of the first tile that has
  // values of it, with the mean of all of it. In rising order.
  bool moves_matrices() const { return settings_.rule->move_matrix != nullptr; }
  bool moves_matrix(const LinearMap& map) const {
    return moves_matrices() && std::min(map.rows, map.columns) <= settings_.rule->matrix_side_max;
  }
  void move_matrix(const LinearMap& map, std::span<const float> mean);

  // Moves weights offset, offset + 1, ... of the model by the mean of so many updates.
  void apply(uint64_t offset, uint64_t updates, std::span<const float> mean, std::span<float> weights);

  // Moves what the strategy carries by the mean of the updates' control parts, from value `offset` of them on.
  // Precondition: the strategy's updates have one.
  void apply_control(uint64_t offset, uint64_t updates, std::span<const float> mean);

  // How long nobody has chosen each cluster (cluster_restarts.h); empty: the job has none, or no round yet.
  const std::vector<uint32_t>& idle_updates() const { return idle_updates_; }
  void set_idle_updates(std::vector<uint32_t> idle) { idle_updates_ = std::move(idle); }
  // From value `offset` of an update on, the vectors are as the rule starts them.
  void restart(uint64_t offset, uint64_t count);

  // Nothing where the strategy carries nothing and the job has no clusters.
  Result<std::optional<Digest>> save(BlobStore& blobs) const;

 private:
  std::array<std::span<float>, kStateVectorsMax> vectors_at(uint64_t offset, uint64_t count);
  void apply_rule(uint64_t offset, uint64_t updates, std::span<const float> mean, std::span<float> weights);
  StrategyState(const StrategySettings& settings, uint64_t value_count);
  float start_of(size_t vector) const;

  const StrategySettings& settings_;
  uint64_t value_count_;                          // of each vector
  uint64_t step_ = 0;                             // rounds seen
  float factor_ = 1;                              // of this round
  std::vector<ValueRange> matrices_;              // that were moved in this round
  std::vector<std::vector<float>> matrix_steps_;  // what by
  std::vector<std::vector<float>> vectors_;
  std::vector<uint32_t> idle_updates_;
};

}  // namespace coterie

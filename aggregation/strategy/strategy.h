// StrategyRule: one way in which a server moves the global model by a round's result. A strategy is one row: what its
// job settings are called, what they default to and may be, how many vectors it keeps between rounds, and its
// arithmetic. Job JSON, validation, the stored state, the command line and the documents follow from the rows
// (registry.h); nobody else knows a strategy by name.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "proto/messages/drift_correction.h"
#include "proto/messages/fair_weight.h"
#include "proto/messages/update_scalars.h"

namespace coterie {

struct StrategyMatrix;  // strategy_matrix.h

// The values that a setting may have, and the sentence that says so.
struct SettingRange {
  bool (*admits)(float value);
  const char* text;
};
inline constexpr SettingRange kAboveZero{[](float value) { return std::isfinite(value) && value > 0; },
                                         "must be finite and > 0"};
inline constexpr SettingRange kFromZero{[](float value) { return std::isfinite(value) && value >= 0; },
                                        "must be finite and >= 0"};
inline constexpr SettingRange kFromZeroBelowOne{[](float value) { return value >= 0 && value < 1; },
                                                "must be in [0, 1)"};

inline constexpr SettingRange kLossBound{[](float value) { return value > 0 && value <= kFairLossMax; },
                                         "must be in (0, 1e6]"};

struct StrategySetting {
  const char* name;     // its key in a job's `strategy`
  float default_value;  // where a job does not name it
  SettingRange range;
  const char* sentence;  // for the documents
};

// What a strategy has to see. Everything that needs single updates is refused where the server sees sums alone.
enum class StrategyNeeds : uint8_t { sum, updates };

// A piece of the model on its way to the next version. All spans but `settings` and `state` have one length.
struct StrategyTile {
  std::span<const float> mean;              // of the round's updates: trained - given
  std::span<const float> settings;          // in the order of StrategyRule::settings
  std::span<const std::span<float>> state;  // state_vectors of them, carried from round to round
  std::span<float> weights;                 // read and written
  uint64_t updates = 0;                     // that the round counts
  float factor = 1;                         // of step_factor, of rules that have it
};

// What is known of a round's mean before the first tile.
struct StrategyRound {
  std::span<const double> scalars;    // means of what devices tell, in the order of StrategyRule::scalars: lies may
                                      // make them anything that is finite
  double squared_norm = 0;            // of the mean's parameters
  std::span<const float> settings;    // as in a tile
  double weight = 0;                  // of all updates together
  uint64_t rounds = 0;                // before this one
  std::span<const float> state = {};  // of a rule with round_values, as it was before the round
};

struct StrategyRule {
  const char* name;                           // `strategy.kind` of a job
  uint8_t stored_as;                          // names it in stored state: from 1, never given twice
  const char* sentence;                       // what it does, for the documents
  const char* source;                         // of its formula
  double learning_rate_advised;               // server_learning_rate to begin with; what `coterie demo` takes
  std::span<const StrategySetting> settings;  // server_learning_rate is the first of every rule
  // Keys that jobs of before the registry may hold beside this rule: read, and without meaning.
  std::span<const char* const> ignored = {};
  StrategyNeeds needs = StrategyNeeds::sum;
  // The model after any rounds is the first one and a sum of their means, each times what depends on settings and
  // rounds alone. So noise that a later mean takes off an earlier one's (privacy.mechanism tree) leaves the model, at
  // once or by and by.
  bool is_linear = false;
  // What the devices of its jobs do beside. If they keep a state (keeps_state), `population_size` is among the
  // settings, and `alpha` if it has one (scheduler/job/correction_rules.h). With a control (has_control) the first
  // state vector is what devices are handed, and there is an apply_control.
  CorrectionKind correction = CorrectionKind::none;
  uint8_t state_vectors = 0;  // at most kStateVectorsMax (proto/messages/training_state.h)
  // What every value of a state vector is before the first round; null: 0.
  float (*state_start)(size_t vector, std::span<const float> settings) = nullptr;
  // Pure, and coordinate by coordinate: the finalizer moves a model tile by tile, and the bits must not depend on where
  // it is cut.
  void (*apply)(const StrategyTile& tile) = nullptr;
  // Likewise for the updates' control part, of which tile.mean is the mean; tile.weights is empty. Null: updates have
  // none.
  void (*apply_control)(const StrategyTile& tile) = nullptr;
  // What devices tell beside their updates. With squared_norm the settings have `norm_max`, with fair_step `q` and
  // `loss_max`; group_member and group_loss are one for each of `groups`, with `loss_max`
  // (scheduler/job/scalar_rules.h).
  std::span<const ScalarKind> scalars = {};
  // Whether all devices have to weigh alike though they keep no state.
  bool counts_alike = false;
  // Pure: what all tiles of a round have as their factor. Null: 1.
  float (*step_factor)(const StrategyRound& round) = nullptr;
  // Where a rule's state is not of the model's values: how many its one state vector has instead. The devices of a
  // round are handed it (Plan::control); state_start says what it is before the first.
  size_t (*round_values)(std::span<const float> settings) = nullptr;
  // Pure: moves that vector once a round, behind step_factor.
  void (*move_state)(const StrategyRound& round, std::span<float> state) = nullptr;
  // Pure: moves a linear map as a whole, where `apply` moves the other values. Null: it moves all.
  void (*move_matrix)(const StrategyMatrix& matrix) = nullptr;
  size_t matrix_side_max = 0;  // of the shorter side: `apply` moves larger ones, too
};

// Whether the devices of a round are handed a vector of the server's.
inline bool hands_out_state(const StrategyRule& rule) {
  return has_control(rule.correction) || rule.round_values != nullptr;
}

}  // namespace coterie

// From a finished training to what the device sends: one function for the agent and for the simulator, so that a
// simulated device sends what a real one would, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/update.h"

namespace coterie {

struct TrainedUpdate {
  UpdateHeader header;           // but for round, model and train_ms, which the training does not know
  std::vector<float> delta;      // with a control part or a clip bit behind it, if the rules have one
  std::vector<uint16_t> levels;  // of a quantized one: what is sent instead
};

// What a training began with: the digest of the model's file, and the seed of what was random in it.
struct TrainingOrigin {
  Digest model;
  uint64_t seed = 0;
  std::span<const float> control = {};  // the server's, of a plan with a control part; empty: zeros
  std::span<const float> state = {};    // the device's own; empty: zeros
  const GivenFacts* given = nullptr;    // of a plan that asks for them (given_pass.h)
};

// trained - given, of the layout's values, scaled as `training` says (normalised_steps.h) and limited as `rules` say;
// quantized, if they say so, with rounding from the training's seed. `examples`: the device has so many; they are its
// weight. Behind that come the scalars that the rules name. Errors: those of limit_update (encode_update.h).
Result<TrainedUpdate> make_update(const UpdateLayout& layout, const Trainer& trainer, uint64_t examples,
                                  const TrainingSettings& training, const UpdateRules& rules,
                                  const TrainingOrigin& origin);

}  // namespace coterie

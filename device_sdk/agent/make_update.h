// From a finished training to what the device sends: one function for the agent and for the simulator, so that a
// simulated device sends what a real one would, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/messages/state_kind.h"
#include "proto/messages/update.h"

namespace coterie {

struct GivenFacts;  // given_pass.h

struct TrainedUpdate {
  UpdateHeader header;           // but for round, model and train_ms, which the training does not know
  std::vector<float> delta;      // with a control part or a clip bit behind it, if the rules have one; of top_k what a
                                 // server makes of what is sent
  std::vector<uint16_t> levels;  // of a quantized one, and of eden: what is sent instead; of top_k in few bits with it
  std::vector<uint32_t> indices = {};  // of top_k: of the values that are sent, rising
  std::vector<float> residual = {};    // with error feedback: the state that counts with this update
};

// What a training began with: the digest of the model's file, and the seed of what was random in it.
struct TrainingOrigin {
  Digest model;
  uint64_t seed = 0;
  std::span<const float> control = {};  // the server's, of a plan that names one; empty: as in the first round
  std::span<const float> state = {};    // the device's, of a plan with error feedback; empty: zeros
  const GivenFacts* given = nullptr;    // of a plan that asks for them (given_pass.h)
  uint32_t group = 0;                   // that the device is in, from 1; 0: in none
  std::span<const float> watched = {};  // of a plan with a watch, its lanes (plan_watch.h)
};

// trained - given, of the layout's values, scaled as `training` says (normalised_steps.h) and limited as `rules` say;
// quantized, if they say so, with rounding from the training's seed. Behind that come the scalars that the rules name.
// A plan with clusters has that in the slot of the one that was trained, and 0 in all others; one
// with widths has 0 for what the trained width has not.
// With error feedback what earlier updates have not had room for is added before, and what this one has no room for
// (values that are not sent, what rounding leaves, what is beyond the bound of a value) is its residual. `examples`:
// the device has so many; they are its weight. Errors: those of limit_update (encode_update.h) and of tell_scalars
// (told_scalars.h).
Result<TrainedUpdate> make_update(const UpdateLayout& layout, const Trainer& trainer, uint64_t examples,
                                  const TrainingSettings& training, const UpdateRules& rules,
                                  const TrainingOrigin& origin);

// The state of a device that has gone on from `state` (empty: zeros), once this update of its is counted; takes what
// belongs to it out of the update. Precondition: keeps_state(plan).
std::vector<float> state_after(const Plan& plan, const UpdateLayout& layout, std::span<const float> state,
                               TrainedUpdate& update);

// The frame that a device sends where nothing masks it.
Bytes encode_update(const TrainedUpdate& update);

// Puts into `delta` what a server adds of that frame, for who simulates one.
Status put_what_is_added(const UpdateRules& rules, TrainedUpdate& update);

}  // namespace coterie

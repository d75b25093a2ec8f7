// What an agent keeps of a job from round to round, and what of it is the device's own.
#include <cstring>

#include "device_sdk/agent/agent.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/agent/own_training.h"
#include "device_sdk/agent/personal_model.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/client/state_keeping.h"

namespace coterie {

// A state that is gone or damaged is as that of a device which has not trained yet: a device must not stand still for
// ever.
Result<std::vector<float>> Agent::kept_state(const DoTrain& action, uint64_t value_count) const {
  if (!action.state) return std::vector<float>();
  Result<std::vector<float>> state = states_.read(action.plan.job, *action.state, value_count);
  if (!state && state.error().code() == ErrorCode::data_loss) return std::vector<float>();
  return state;
}

// What is the device's own as the next training begins; is_own: that one comes before the update's.
Result<std::vector<float>> Agent::own_before(const DoTrain& action, const UpdateLayout& layout,
                                             const std::vector<float>& state, bool& is_own) const {
  if (!action.plan.training.personal) return std::vector<float>();
  is_own = has_own_training(action.plan.training);
  if (!is_own) return state;
  const uint64_t bytes = layout.personal().count() * sizeof(float);
  const std::string name = training_file(action.assignment.round, "own");
  const Result<Bytes> first = vault_.read_file(name, bytes);
  // Gone, damaged or never written: it is trained again, to the same values.
  if (!first || first->size() != bytes) return state;
  is_own = false;
  std::vector<float> own(layout.personal().count());
  std::memcpy(own.data(), first->data(), bytes);
  return own;
}

// What a first training came to, for the update's.
Status Agent::store_own(const DoTrain& action) const {
  const std::vector<float> own = own_values(*training_->layout, training_->trainer);
  Bytes bytes(own.size() * sizeof(float));
  std::memcpy(bytes.data(), own.data(), bytes.size());
  return vault_.write_file(training_file(action.assignment.round, "own"), std::move(bytes));
}

// The state that counts with this update, if devices of the plan keep one; gives its content.
Result<std::optional<Digest>> Agent::store_state(const DoTrain& action, TrainedUpdate& update) const {
  if (!keeps_state(action.plan)) return std::optional<Digest>();
  const TrainingSettings& settings = action.plan.training;
  const UpdateLayout& layout = *training_->layout;
  const std::vector<float> next = settings.personal ? next_own(layout, settings, training_->trainer, training_->own)
                                                    : state_after(action.plan, layout, training_->state, update);
  const StateSlot slot = staged_slot(action.plan, action.assignment, action.state);
  COT_ASSIGN(const Digest content, states_.write(action.plan.job, slot, next));
  return std::optional(content);
}

Result<Model> Agent::personal_model(const JobId& job, const Model& published) const {
  return coterie::personal_model(states_, state(), job, published);
}

}  // namespace coterie

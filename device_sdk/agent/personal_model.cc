#include "device_sdk/agent/personal_model.h"

#include <vector>

#include "base/os/file.h"
#include "device_sdk/agent/own_training.h"
#include "device_sdk/agent/session_files.h"
#include "device_sdk/agent/state_files.h"
#include "device_sdk/runtime/cluster_models.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/personal_part.h"
#include "proto/messages/plan.h"

namespace coterie {

Result<Model> personal_model(const StateFiles& files, const ParticipantState& state, const JobId& job,
                             const Model& published) {
  const auto kept = state.states.find(job);
  if (kept == state.states.end() || !kept->second.personal) {
    return Error(ErrorCode::not_found, "this device keeps nothing to itself of job " + job.value() +
                                           ": no update of it was counted yet or for long, or its jobs ask for nothing "
                                           "of the kind (training.personal)");
  }
  TrainingSettings training;
  training.personal = kept->second.personal;
  if (training.personal->kind == PersonalKind::clusters) {
    COT_ASSIGN(const std::vector<float> cluster, files.read(job, kept->second.slot, 1));
    if (!(cluster[0] >= 0 && cluster[0] < static_cast<float>(kClustersMax))) {
      return Error(ErrorCode::data_loss, "what this device keeps of job " + job.value() + " is no cluster's number");
    }
    return cluster_model(published, static_cast<uint32_t>(cluster[0]));
  }
  COT_ASSIGN(const ValueSelection own, personal_values(published.graph(), training, published.value_count()));
  COT_ASSIGN(const std::vector<float> values, files.read(job, kept->second.slot, own.count()));
  return with_own_values(published, own, values);
}

Result<Model> personal_model(const std::string& state_dir, const JobId& job, const Model& published) {
  if (!os::exists(state_dir)) return Error(ErrorCode::not_found, "there is no state directory " + state_dir);
  COT_ASSIGN(const os::File lock, lock_directory(state_dir));
  COT_ASSIGN(const ParticipantState state, SessionFiles(state_dir).load(1));
  return personal_model(StateFiles(state_dir), state, job, published);
}

}  // namespace coterie

#include "proto/messages/state_kind.h"

#include "proto/messages/plan.h"

namespace coterie {

std::string_view to_string(StateKind kind) {
  switch (kind) {
    case StateKind::none: return "none";
    case StateKind::feddyn: return "feddyn";
    case StateKind::scaffold: return "scaffold";
    case StateKind::scaffold_gradient: return "scaffold_gradient";
    case StateKind::personal_part: return "personal_part";
    case StateKind::personal_model: return "personal_model";
    case StateKind::personal_cluster: return "personal_cluster";
    case StateKind::error_feedback: return "error_feedback";
  }
  return "unknown";
}

StateKind state_kind(const TrainingSettings& training) {
  if (training.personal) {
    switch (training.personal->kind) {
      case PersonalKind::part: return StateKind::personal_part;
      case PersonalKind::model: return StateKind::personal_model;
      case PersonalKind::clusters: return StateKind::personal_cluster;
    }
  }
  const CorrectionKind correction = training.correction.kind;
  return keeps_state(correction) ? static_cast<StateKind>(correction) : StateKind::none;
}

StateKind state_kind_of(const Plan& plan) {
  return plan.update.top_k.has_error_feedback ? StateKind::error_feedback : state_kind(plan.training);
}

}  // namespace coterie

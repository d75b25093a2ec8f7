// What an operator sees and does: the part of the coordinator's machine that is about all jobs.
#include <algorithm>
#include <iterator>

#include "vertical/coordinator/coordinator_machine.h"
#include "vertical/coordinator/job_survey.h"

namespace coterie::vertical {

bool CoordinatorMachine::is_operator(const PeerIdentity& peer) const {
  return std::ranges::any_of(peer.names,
                             [&](const std::string& name) { return std::ranges::count(operators_, name) > 0; });
}

CoordinatorEffects CoordinatorMachine::steer(ConnectionId connection, RequestKind kind, JobRecord& record, Now now) {
  switch (kind) {
    case RequestKind::status: return answer(connection, record);
    case RequestKind::cancel: return cancel(connection, "operator_cancelled", record, now);
    case RequestKind::pause: return pause(connection, record.is_paused_by_operator, record, now);
    case RequestKind::resume: return resume(connection, record.is_paused_by_operator, record, now);
    default: return refuse(connection, Refusal::not_a_party);
  }
}

CoordinatorEffects CoordinatorMachine::survey(ConnectionId connection, const PeerIdentity& peer,
                                              const Request& request) const {
  if (!is_operator(peer)) return refuse(connection, Refusal::not_an_operator);
  auto from = jobs_.begin();
  auto to = jobs_.end();
  if (request.survey == SurveyOf::all_behind) from = jobs_.upper_bound(request.job);
  if (request.survey == SurveyOf::one) {
    from = jobs_.find(request.job);
    if (from == jobs_.end()) return refuse(connection, Refusal::unknown_job);
    to = std::next(from);
  }
  std::vector<const JobRecord*> records;
  for (; from != to; ++from) records.push_back(&from->second);
  CoordinatorEffects effects;
  effects.answers.push_back({.to = connection, .bytes = write_survey(records), .is_last = true});
  return effects;
}

}  // namespace coterie::vertical

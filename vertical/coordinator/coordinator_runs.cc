// How a job comes to run, is dealt to, is paused and goes on: the part of the coordinator's machine that is about runs.
#include <algorithm>
#include <utility>

#include "vertical/coordinator/coordinator_machine.h"

namespace coterie::vertical {
namespace {

std::string paused_by(const JobRecord& record) {
  if (record.parties[0].is_paused) return "label_party_paused";
  if (record.parties[1].is_paused) return "feature_party_paused";
  return record.is_paused_by_operator ? "operator_paused" : "";
}

}  // namespace

CoordinatorEffects CoordinatorMachine::join(ConnectionId connection, PartyIndex party, const Request& request,
                                            JobRecord& record, Now now) {
  if (request.digest != record.manifest) return refuse(connection, Refusal::manifest_differs);
  if (is_over(record.state)) return refuse(connection, Refusal::job_over);
  if (record.state == JobState::created) return refuse(connection, Refusal::not_approved);
  CoordinatorEffects effects;
  if (record.state == JobState::running) {
    // Whoever comes back before the last run's reports are late has lost it.
    if (must_find(runs_, record.job, kRunHasJob).is_connected()) return refuse(connection, Refusal::already_joined);
    suspend(record, "party_lost", now, effects);
  }
  const auto refused = [&](Refusal refusal) {
    effects.answers.push_back(refuse(connection, refusal).answers[0]);
    return effects;
  };
  if (waiting_for(record.job, party)) return refused(Refusal::already_joined);
  const std::optional<ConnectionId> other = waiting_for(record.job, 1 - party);
  if (!other || record.is_held()) {
    if (waiting_.size() >= limits_.waiting_max) return refused(Refusal::waiting_full);
    waiting_.emplace(connection, Waiting{.job = record.job, .party = party, .until = now.instant + limits_.wait_time});
    return effects;
  }
  if (running() >= limits_.pairs_max) return refused(Refusal::pairs_full);
  std::array<ConnectionId, kJobParties> both;
  both[party] = connection;
  both[1 - party] = *other;
  pair(record, both, now, effects);
  return effects;
}

std::optional<ConnectionId> CoordinatorMachine::waiting_for(const VerticalJobId& job, PartyIndex party) const {
  const auto found = std::ranges::find_if(
      waiting_, [&](const auto& entry) { return entry.second.job == job && entry.second.party == party; });
  if (found == waiting_.end()) return std::nullopt;
  return found->first;
}

void CoordinatorMachine::pair(JobRecord& record, const std::array<ConnectionId, kJobParties>& connections, Now now,
                              CoordinatorEffects& effects) {
  record.state = JobState::running;
  record.reason.clear();
  record.changed = now.wall;
  lost_.erase(record.job);
  effects.store.push_back(record);
  Run run{.connections = {}, .until = now.instant + limits_.idle_time};
  const Bytes bytes = write_answer(view_of(record));
  for (PartyIndex party = 0; party < kJobParties; ++party) {
    waiting_.erase(connections[party]);
    run.connections[party] = connections[party];
    paired_.emplace(connections[party], std::pair(record.job, party));
    effects.answers.push_back({.to = connections[party], .bytes = bytes, .is_last = false});
  }
  effects.pairs.push_back({.label = connections[0], .feature = connections[1]});
  runs_.emplace(record.job, run);
}

CoordinatorEffects CoordinatorMachine::pause(ConnectionId connection, bool& is_paused, JobRecord& record, Now now) {
  if (is_over(record.state)) return refuse(connection, Refusal::job_over);
  if (record.state == JobState::created) return refuse(connection, Refusal::not_approved);
  CoordinatorEffects effects;
  if (!is_paused) {
    is_paused = true;
    suspend(record, paused_by(record), now, effects);
  }
  effects.answers.push_back(answer(connection, record).answers[0]);
  return effects;
}

CoordinatorEffects CoordinatorMachine::resume(ConnectionId connection, bool& is_paused, JobRecord& record, Now now) {
  if (is_over(record.state)) return refuse(connection, Refusal::job_over);
  if (!is_paused) return answer(connection, record);
  is_paused = false;
  record.reason = paused_by(record);
  record.changed = now.wall;
  CoordinatorEffects effects;
  if (record.is_held()) {
    effects.store.push_back(record);
  } else {
    record.state = JobState::approved;
    // The time of a pause is over: from here on both must come back as after a loss.
    if (record.has_run()) lost_.emplace(record.job, now.instant + limits_.resume_time);
    const std::optional<ConnectionId> label = waiting_for(record.job, 0), feature = waiting_for(record.job, 1);
    if (label && feature && running() < limits_.pairs_max) {
      pair(record, {*label, *feature}, now, effects);
    } else {
      effects.store.push_back(record);
    }
    if (label && feature && record.state != JobState::running) {
      // No place is free. Whoever came last comes again, as it would have been told then; both would wait for nothing.
      const ConnectionId last = std::max(*label, *feature);
      waiting_.erase(last);
      effects.answers.push_back(refuse(last, Refusal::pairs_full).answers[0]);
    }
  }
  effects.answers.push_back(answer(connection, record).answers[0]);
  return effects;
}

CoordinatorEffects CoordinatorMachine::progress(ConnectionId connection, PartyIndex party, const Request& request,
                                                JobRecord& record, Now now) {
  if (record.state != JobState::running) return refuse(connection, Refusal::not_running);
  bool& has_told =
      must_find(runs_, record.job, kRunHasJob).has_told[party][static_cast<size_t>(request.progress.stage) - 1];
  const bool is_durable = hear_stage(record.parties[party].stages, request.progress, !has_told, now.wall);
  has_told = true;
  CoordinatorEffects effects = answer(connection, record);
  // What is said in between is said again: it is kept with the next change.
  if (is_durable) effects.store.push_back(record);
  return effects;
}

CoordinatorEffects CoordinatorMachine::deal(ConnectionId connection, PartyIndex party, const Request& request,
                                            JobRecord& record) {
  if (request.digest != record.manifest) return refuse(connection, Refusal::manifest_differs);
  if (is_over(record.state)) return refuse(connection, Refusal::job_over);
  if (record.state != JobState::running) return refuse(connection, Refusal::not_running);
  Run& run = must_find(runs_, record.job, kRunHasJob);
  if (run.is_dealt || run.dealings[party]) return refuse(connection, Refusal::already_joined);
  CoordinatorEffects effects;
  const std::optional<ConnectionId> other = run.dealings[1 - party];
  if (!other) {
    run.asked = request;
    run.dealings[party] = connection;
    dealings_.emplace(connection, std::pair(record.job, party));
    return effects;
  }
  if (run.asked->shape != request.shape || run.asked->session != request.session ||
      run.asked->first_step != request.first_step || run.asked->is_product != request.is_product) {
    dealings_.erase(*other);
    run.dealings = {};
    for (const ConnectionId to : {connection, *other}) {
      effects.answers.push_back(refuse(to, Refusal::deal_differs).answers[0]);
    }
    return effects;
  }
  run.is_dealt = true;
  run.dealings[party] = connection;
  dealings_.emplace(connection, std::pair(record.job, party));
  const Bytes bytes = write_answer(view_of(record));
  for (const ConnectionId to : {connection, *other}) {
    effects.answers.push_back({.to = to, .bytes = bytes, .is_last = false});
  }
  effects.deals.push_back({.label = *run.dealings[0],
                           .feature = *run.dealings[1],
                           .job = record.job,
                           .shape = request.shape,
                           .session = request.session,
                           .first_step = request.first_step,
                           .is_product = request.is_product});
  return effects;
}

void CoordinatorMachine::suspend(JobRecord& record, std::string reason, Now now, CoordinatorEffects& effects) {
  record.state = JobState::paused;
  record.reason = std::move(reason);
  record.changed = now.wall;
  effects.store.push_back(record);
  close_run(record.job, effects);
  // A party that pauses a job may take its time.
  lost_.erase(record.job);
  if (!record.is_held()) lost_.emplace(record.job, now.instant + limits_.resume_time);
}

void CoordinatorMachine::close_run(const VerticalJobId& job, CoordinatorEffects& effects) {
  if (const auto run = runs_.find(job); run != runs_.end()) {
    for (const std::optional<ConnectionId>& connection : run->second.connections) {
      if (!connection) continue;
      paired_.erase(*connection);
      effects.closes.push_back(*connection);
    }
    for (const std::optional<ConnectionId>& connection : run->second.dealings) {
      if (!connection) continue;
      dealings_.erase(*connection);
      effects.closes.push_back(*connection);
    }
    runs_.erase(run);
  }
}

void CoordinatorMachine::forget_dealing(ConnectionId connection) {
  const auto found = dealings_.find(connection);
  if (found == dealings_.end()) return;
  const auto [job, party] = found->second;
  dealings_.erase(found);
  must_find(runs_, job, kPairHasRun).dealings[party].reset();
}

}  // namespace coterie::vertical

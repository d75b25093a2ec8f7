// How a job comes to run, is matched and dealt to, is paused and goes on: the part of the coordinator's machine that is
// about runs.
#include <algorithm>
#include <utility>

#include "vertical/coordinator/coordinator_machine.h"

namespace coterie::vertical {
namespace {

std::string paused_by(const JobRecord& record) {
  if (record.parties[0].is_paused) return "label_party_paused";
  if (std::ranges::any_of(record.parties, &PartyRecord::is_paused)) return "feature_party_paused";
  return record.is_paused_by_operator ? "operator_paused" : "";
}

}  // namespace

CoordinatorEffects CoordinatorMachine::join(ConnectionId connection, PartyIndex party, const Request& request,
                                            JobRecord& record, Now now) {
  if (request.digest != record.manifest) return refuse(connection, Refusal::manifest_differs);
  if (is_over(record.state)) return refuse(connection, Refusal::job_over);
  if (record.state == JobState::created) return refuse(connection, Refusal::not_approved);
  const bool names_peer = record.parties.size() > kJobPartiesMin;
  if (request.peer.has_value() != names_peer) return refuse(connection, Refusal::malformed_request);
  if (request.peer == kMatcher) return join_matching(connection, party, record);
  const LinkEnd end{.party = party, .peer = request.peer.value_or(1 - party)};
  if (end.peer == party || end.peer >= record.parties.size()) return refuse(connection, Refusal::malformed_request);
  CoordinatorEffects effects;
  if (record.state == JobState::running) {
    const Run& run = must_find(runs_, record.job, kRunHasJob);
    // Whoever comes back before the last run's reports are late has lost it.
    if (run.opened.contains(end) && run.is_connected()) return refuse(connection, Refusal::already_joined);
    if (run.opened.contains(end)) suspend(record, "party_lost", now, effects);
  }
  const auto refused = [&](Refusal refusal) {
    effects.answers.push_back(refuse(connection, refusal).answers[0]);
    return effects;
  };
  if (waiting_for(record.job, end)) return refused(Refusal::already_joined);
  const bool is_running = record.state == JobState::running;
  if (!is_running && end != first_link(party)) return refused(Refusal::not_running);
  const auto waits =
      waiting_.emplace(connection, Waiting{.job = record.job, .end = end, .until = now.instant + limits_.wait_time});
  if (is_running && waiting_for(record.job, end.opposite())) {
    pair(record, party < end.peer ? end : end.opposite(), now, effects);
    return effects;
  }
  const bool can_start = !is_running && !record.is_held() && all_waiting(record);
  if (can_start && running() < limits_.pairs_max) {
    start(record, now, effects);
    return effects;
  }
  // A job that runs has its place already, and so have its links.
  if (!can_start && (is_running || waiting_.size() <= limits_.waiting_max)) return effects;
  waiting_.erase(waits.first);
  return refused(can_start ? Refusal::pairs_full : Refusal::waiting_full);
}

std::optional<ConnectionId> CoordinatorMachine::waiting_for(const VerticalJobId& job, LinkEnd end) const {
  const auto found = std::ranges::find_if(
      waiting_, [&](const auto& entry) { return entry.second.job == job && entry.second.end == end; });
  if (found == waiting_.end()) return std::nullopt;
  return found->first;
}

std::optional<std::vector<ConnectionId>> CoordinatorMachine::all_waiting(const JobRecord& record) const {
  std::vector<ConnectionId> all;
  for (PartyIndex party = 0; party < record.parties.size(); ++party) {
    const std::optional<ConnectionId> one = waiting_for(record.job, first_link(party));
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  return all;
}

void CoordinatorMachine::start(JobRecord& record, Now now, CoordinatorEffects& effects) {
  record.state = JobState::running;
  record.reason.clear();
  record.changed = now.wall;
  lost_.erase(record.job);
  effects.store.push_back(record);
  Run run;
  run.has_told.resize(record.parties.size());
  runs_.emplace(record.job, std::move(run));
  // Those of more than two parties whose peer is still busy with another link have the time of a wait for it.
  for (auto& [connection, waiting] : waiting_) {
    if (waiting.job == record.job) waiting.until = now.instant + limits_.wait_time;
  }
  pair(record, first_link(0), now, effects);
}

void CoordinatorMachine::pair(const JobRecord& record, LinkEnd first, Now now, CoordinatorEffects& effects) {
  Run& run = must_find(runs_, record.job, kRunHasJob);
  run.until = now.instant + limits_.idle_time;
  const Bytes bytes = write_answer(view_of(record));
  std::vector<ConnectionId> both;
  for (const LinkEnd end : {first, first.opposite()}) {
    const std::optional<ConnectionId> connection = waiting_for(record.job, end);
    COT_ASSERT(connection);
    waiting_.erase(*connection);
    run.connections.emplace(end, *connection);
    run.opened.insert(end);
    paired_.emplace(*connection, std::pair(record.job, end));
    effects.answers.push_back({.to = *connection, .bytes = bytes, .is_last = false});
    both.push_back(*connection);
  }
  effects.pairs.push_back({.first = both[0], .second = both[1]});
}

CoordinatorEffects CoordinatorMachine::join_matching(ConnectionId connection, PartyIndex party, JobRecord& record) {
  if (record.state != JobState::running) return refuse(connection, Refusal::not_running);
  Run& run = must_find(runs_, record.job, kRunHasJob);
  // Somebody has gone, and would never ask.
  if (run.has_lost_link()) return refuse(connection, Refusal::not_running);
  if (run.is_matched || run.matchers.contains(party)) return refuse(connection, Refusal::already_joined);
  run.matchers.emplace(party, connection);
  matchers_.emplace(connection, std::pair(record.job, party));
  CoordinatorEffects effects;
  if (run.matchers.size() < record.parties.size()) return effects;
  run.is_matched = true;
  const Bytes bytes = write_answer(view_of(record));
  CoordinatorEffects::Matching matching{.job = record.job, .parties = {}};
  for (const auto& [one, to] : run.matchers) {
    effects.answers.push_back({.to = to, .bytes = bytes, .is_last = false});
    matching.parties.push_back(to);
  }
  effects.matchings.push_back(std::move(matching));
  return effects;
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
    const std::optional<std::vector<ConnectionId>> all = all_waiting(record);
    if (all && running() < limits_.pairs_max) {
      start(record, now, effects);
    } else {
      effects.store.push_back(record);
    }
    if (all && record.state != JobState::running) {
      // No place is free. Whoever came last comes again, as it would have been told then; all would wait for nothing.
      const ConnectionId last = std::ranges::max(*all);
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
  // A regression has two parties.
  if (record.parties.size() > kJobPartiesMin) return refuse(connection, Refusal::malformed_request);
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
    for (const auto& [end, connection] : run->second.connections) {
      paired_.erase(connection);
      effects.closes.push_back(connection);
    }
    for (const auto& [party, connection] : run->second.matchers) {
      matchers_.erase(connection);
      effects.closes.push_back(connection);
    }
    for (const std::optional<ConnectionId>& connection : run->second.dealings) {
      if (!connection) continue;
      dealings_.erase(*connection);
      effects.closes.push_back(*connection);
    }
    runs_.erase(run);
  }
  // Who waits for a later link of this run has lost it with the others, and comes again with its first.
  for (auto entry = waiting_.begin(); entry != waiting_.end();) {
    const Waiting& waiting = entry->second;
    if (waiting.job != job || waiting.end == first_link(waiting.end.party)) {
      ++entry;
      continue;
    }
    effects.answers.push_back(refuse(entry->first, Refusal::not_running).answers[0]);
    entry = waiting_.erase(entry);
  }
}

void CoordinatorMachine::forget_dealing(ConnectionId connection) {
  const auto found = dealings_.find(connection);
  if (found == dealings_.end()) return;
  const auto [job, party] = found->second;
  dealings_.erase(found);
  must_find(runs_, job, kPairHasRun).dealings[party].reset();
}

void CoordinatorMachine::forget_matching(ConnectionId connection) {
  const auto found = matchers_.find(connection);
  if (found == matchers_.end()) return;
  const auto [job, party] = found->second;
  matchers_.erase(found);
  must_find(runs_, job, kPairHasRun).matchers.erase(party);
}

}  // namespace coterie::vertical

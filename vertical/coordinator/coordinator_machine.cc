#include "vertical/coordinator/coordinator_machine.h"

#include <algorithm>
#include <utility>

#include "secure/crypto/signature.h"

namespace coterie::vertical {
namespace {

// Which party of these the certificate is.
Result<PartyIndex> party_of(const PeerIdentity& peer, const std::vector<std::string>& parties) {
  std::optional<PartyIndex> found;
  for (PartyIndex party = 0; party < parties.size(); ++party) {
    if (std::ranges::count(peer.names, parties[party]) == 0) continue;
    if (found) return refusal_error(Refusal::both_parties);
    found = party;
  }
  if (!found) return refusal_error(Refusal::not_a_party);
  return *found;
}

std::vector<std::string> names_of(const JobRecord& record) {
  std::vector<std::string> names;
  for (const PartyRecord& party : record.parties) names.push_back(party.name);
  return names;
}

Refusal refusal_for(const Error& error) {
  return error.reason() == refusal_name(Refusal::both_parties) ? Refusal::both_parties : Refusal::not_a_party;
}

}  // namespace

CoordinatorMachine::CoordinatorMachine(const CoordinatorLimits& limits, ManifestReader reader,
                                       std::vector<JobRecord> records, std::vector<std::string> operators)
    : limits_(limits), reader_(std::move(reader)), operators_(std::move(operators)) {
  for (JobRecord& record : records) jobs_.emplace(record.job, std::move(record));
}

CoordinatorEffects CoordinatorMachine::begin(Now now) {
  CoordinatorEffects effects;
  for (auto& [id, record] : jobs_) {
    if (record.state == JobState::running) suspend(record, "coordinator_lost", now, effects);
    const bool is_resumed = record.state == JobState::approved && record.has_run();
    if (is_resumed || (record.state == JobState::paused && !record.is_held())) {
      lost_[id] = now.instant + limits_.resume_time;
    }
  }
  return checked(std::move(effects));
}

CoordinatorEffects CoordinatorMachine::opened(ConnectionId connection, Now now) {
  COT_ASSERT(asking_.empty() || asking_.rbegin()->first < connection);
  CoordinatorEffects effects;
  if (asking_.size() >= limits_.asking_max) {
    effects.closes.push_back(asking_.begin()->first);
    asking_.erase(asking_.begin());
  }
  asking_.emplace(connection, now.instant + limits_.ask_time);
  return checked(std::move(effects));
}

CoordinatorEffects CoordinatorMachine::asked(ConnectionId connection, const PeerIdentity& peer,
                                             const std::optional<Request>& request, Now now) {
  COT_ASSERT(asking_.contains(connection));
  asking_.erase(connection);
  return checked(decide(connection, peer, request, now));
}

CoordinatorEffects CoordinatorMachine::decide(ConnectionId connection, const PeerIdentity& peer,
                                              const std::optional<Request>& request, Now now) {
  if (!request) return refuse(connection, Refusal::malformed_request);
  if (request->kind == RequestKind::submit) return submit(connection, peer, request->manifest, now);
  if (request->kind == RequestKind::survey) return survey(connection, peer, *request);
  const auto found = jobs_.find(request->job);
  if (found == jobs_.end()) return refuse(connection, Refusal::unknown_job);
  JobRecord& record = found->second;
  const Result<PartyIndex> party = party_of(peer, names_of(record));
  // Whoever is a party asks as one, also with a certificate that has an operator's name besides.
  const bool steers = !party && refusal_for(party.error()) == Refusal::not_a_party && is_operator(peer);
  if (steers) return steer(connection, request->kind, record, now);
  if (!party) return refuse(connection, refusal_for(party.error()));
  switch (request->kind) {
    case RequestKind::submit:
    case RequestKind::survey: break;  // above
    case RequestKind::approve: return approve(connection, *party, peer, *request, record, now);
    case RequestKind::status: return answer(connection, record);
    case RequestKind::cancel:
      return cancel(connection, *party == 0 ? "label_party_cancelled" : "feature_party_cancelled", record, now);
    case RequestKind::join: return join(connection, *party, *request, record, now);
    case RequestKind::report: return report(connection, *party, *request, record, now);
    case RequestKind::deal: return deal(connection, *party, *request, record);
    case RequestKind::pause: return pause(connection, record.parties[*party].is_paused, record, now);
    case RequestKind::resume: return resume(connection, record.parties[*party].is_paused, record, now);
    case RequestKind::progress: return progress(connection, *party, *request, record, now);
  }
  return refuse(connection, Refusal::malformed_request);
}

CoordinatorEffects CoordinatorMachine::cancel(ConnectionId connection, std::string reason, JobRecord& record, Now now) {
  if (is_over(record.state)) return refuse(connection, Refusal::job_over);
  CoordinatorEffects effects;
  end(record, JobState::cancelled, std::move(reason), now, effects);
  effects.answers.push_back(answer(connection, record).answers[0]);
  return effects;
}

CoordinatorEffects CoordinatorMachine::submit(ConnectionId connection, const PeerIdentity& peer,
                                              const std::string& manifest, Now now) {
  const Result<JobTerms> terms = reader_(manifest);
  if (!terms || !check_terms(*terms)) return refuse(connection, Refusal::manifest_invalid);
  const Result<PartyIndex> party = party_of(peer, terms->parties);
  if (!party) return refuse(connection, refusal_for(party.error()));
  if (const auto known = jobs_.find(terms->job); known != jobs_.end()) {
    // Submitting blindly again is no error; another manifest under the same id is. Only a party of the known job hears
    // of it.
    const JobRecord& record = known->second;
    if (const auto theirs = party_of(peer, names_of(record)); !theirs) {
      return refuse(connection, refusal_for(theirs.error()));
    }
    if (record.manifest != terms->manifest) return refuse(connection, Refusal::manifest_differs);
    return answer(connection, record);
  }
  const std::string& name = terms->parties[*party];
  const auto open = std::ranges::count_if(jobs_, [&name](const auto& entry) {
    const JobRecord& record = entry.second;
    return !is_over(record.state) && record.parties[record.submitted_by].name == name;
  });
  if (static_cast<size_t>(open) >= limits_.party_jobs_max) return refuse(connection, Refusal::party_jobs_full);
  CoordinatorEffects effects;
  if (jobs_.size() >= limits_.jobs_max) {
    auto oldest = jobs_.end();
    for (auto entry = jobs_.begin(); entry != jobs_.end(); ++entry) {
      if (!is_over(entry->second.state)) continue;
      if (oldest == jobs_.end() || entry->second.changed < oldest->second.changed) oldest = entry;
    }
    if (oldest == jobs_.end()) return refuse(connection, Refusal::jobs_full);
    effects.remove.push_back(oldest->first);
    jobs_.erase(oldest);
  }
  JobRecord record{.job = terms->job,
                   .manifest = terms->manifest,
                   .submitted_by = *party,
                   .changed = now.wall,
                   .kind = terms->kind,
                   .leakage = terms->leakage};
  record.parties.resize(terms->parties.size());
  for (size_t i = 0; i < record.parties.size(); ++i) record.parties[i].name = terms->parties[i];
  effects.store.push_back(record);
  effects.answers.push_back(answer(connection, record).answers[0]);
  jobs_.emplace(record.job, std::move(record));
  return effects;
}

CoordinatorEffects CoordinatorMachine::approve(ConnectionId connection, PartyIndex party, const PeerIdentity& peer,
                                               const Request& request, JobRecord& record, Now now) {
  if (request.digest != record.manifest) return refuse(connection, Refusal::manifest_differs);
  if (is_over(record.state)) return refuse(connection, Refusal::job_over);
  if (!peer.algorithm) return refuse(connection, Refusal::key_unsupported);
  if (!signature_is_valid(*peer.algorithm, peer.public_key, approval_message(record.job, record.manifest),
                          request.signature)) {
    return refuse(connection, Refusal::signature_invalid);
  }
  // The first approval counts; to give it again changes nothing.
  if (record.parties[party].approval) return answer(connection, record);
  record.parties[party].approval = {
      .algorithm = *peer.algorithm, .public_key = peer.public_key, .signature = request.signature};
  if (record.is_approved()) {
    record.state = JobState::approved;
    record.changed = now.wall;
  }
  CoordinatorEffects effects = answer(connection, record);
  effects.store.push_back(record);
  return effects;
}

CoordinatorEffects CoordinatorMachine::report(ConnectionId connection, PartyIndex party, const Request& request,
                                              JobRecord& record, Now now) {
  // A report after the end changes nothing, but who gives it learns how it ended.
  if (is_over(record.state)) return answer(connection, record);
  if (record.state != JobState::running && record.state != JobState::paused) {
    return refuse(connection, Refusal::not_running);
  }
  CoordinatorEffects effects;
  if (!request.is_done) {
    end(record, JobState::failed, request.reason, now, effects);
  } else if (!record.parties[party].is_done) {
    record.parties[party].is_done = true;
    if (record.is_done_at_all()) {
      end(record, JobState::done, "", now, effects);
    } else {
      effects.store.push_back(record);
    }
  }
  effects.answers.push_back(answer(connection, record).answers[0]);
  return effects;
}

void CoordinatorMachine::end(JobRecord& record, JobState state, std::string reason, Now now,
                             CoordinatorEffects& effects) {
  record.state = state;
  record.reason = std::move(reason);
  record.changed = now.wall;
  effects.store.push_back(record);
  lost_.erase(record.job);
  for (auto entry = waiting_.begin(); entry != waiting_.end();) {
    if (entry->second.job != record.job) {
      ++entry;
      continue;
    }
    effects.answers.push_back(refuse(entry->first, Refusal::job_over).answers[0]);
    entry = waiting_.erase(entry);
  }
  close_run(record.job, effects);
}

CoordinatorEffects CoordinatorMachine::spoke_early(ConnectionId connection, Now) {
  if (waiting_.erase(connection) == 1) return checked(refuse(connection, Refusal::spoke_early));
  if (!dealings_.contains(connection) && !matchers_.contains(connection)) return {};
  forget_dealing(connection);
  forget_matching(connection);
  CoordinatorEffects effects;
  effects.closes.push_back(connection);
  return checked(std::move(effects));
}

void CoordinatorMachine::relayed(ConnectionId from, uint64_t bytes, Now now) {
  if (const auto asks = matchers_.find(from); asks != matchers_.end()) {
    must_find(runs_, asks->second.first, kPairHasRun).until = now.instant + limits_.idle_time;
    return;
  }
  const auto found = paired_.find(from);
  if (found == paired_.end()) return;
  const auto& [job, end] = found->second;
  must_find(jobs_, job, kPairHasJob).parties[end.party].relayed_bytes += bytes;
  must_find(runs_, job, kPairHasRun).until = now.instant + limits_.idle_time;
}

CoordinatorEffects CoordinatorMachine::closed(ConnectionId connection, Now now) {
  asking_.erase(connection);
  forget_dealing(connection);
  forget_matching(connection);
  if (const auto waits = waiting_.find(connection); waits != waiting_.end()) {
    JobRecord& record = must_find(jobs_, waits->second.job, kPairHasJob);
    waiting_.erase(waits);
    // Somebody who was to open one more link of a run is gone: the others would wait for it one after the other.
    CoordinatorEffects effects;
    if (record.state == JobState::running) suspend(record, "party_lost", now, effects);
    return checked(std::move(effects));
  }
  const auto found = paired_.find(connection);
  if (found == paired_.end()) return {};
  const auto [job, end] = found->second;
  paired_.erase(found);
  Run& run = must_find(runs_, job, kPairHasRun);
  run.connections.erase(end);
  CoordinatorEffects effects;
  if (!run.is_connected()) run.until = now.instant + limits_.report_time;
  // Whoever waits until all ask for the matcher looks at no link, and would wait in vain. A run without links has no
  // place among those that run, and what its matcher holds goes with it.
  if (!run.is_connected() || !run.is_matched) {
    for (const auto& [party, matcher] : run.matchers) {
      matchers_.erase(matcher);
      effects.closes.push_back(matcher);
    }
    run.matchers.clear();
  }
  return checked(std::move(effects));
}

CoordinatorEffects CoordinatorMachine::dealer_lost(const VerticalJobId& job, Now now) {
  return fail(job, "dealer_lost", now);
}

CoordinatorEffects CoordinatorMachine::matching_failed(const VerticalJobId& job, std::string reason, Now now) {
  return fail(job, std::move(reason), now);
}

CoordinatorEffects CoordinatorMachine::fail(const VerticalJobId& job, std::string reason, Now now) {
  CoordinatorEffects effects;
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && !is_over(found->second.state)) {
    end(found->second, JobState::failed, std::move(reason), now, effects);
  }
  return checked(std::move(effects));
}

CoordinatorEffects CoordinatorMachine::advance(Now now) {
  CoordinatorEffects effects;
  for (auto entry = asking_.begin(); entry != asking_.end();) {
    if (entry->second > now.instant) {
      ++entry;
      continue;
    }
    effects.closes.push_back(entry->first);
    entry = asking_.erase(entry);
  }
  for (auto entry = waiting_.begin(); entry != waiting_.end();) {
    if (entry->second.until > now.instant) {
      ++entry;
      continue;
    }
    effects.answers.push_back(refuse(entry->first, Refusal::peer_absent).answers[0]);
    entry = waiting_.erase(entry);
  }
  std::vector<VerticalJobId> idle, lost, given_up;
  for (const auto& [job, run] : runs_) {
    if (run.until <= now.instant) (run.is_connected() ? idle : lost).push_back(job);
  }
  for (const auto& [job, until] : lost_) {
    if (until <= now.instant) given_up.push_back(job);
  }
  for (const VerticalJobId& job : idle) {
    end(must_find(jobs_, job, kRunHasJob), JobState::failed, "relay_idle", now, effects);
  }
  for (const VerticalJobId& job : lost) suspend(must_find(jobs_, job, kRunHasJob), "party_lost", now, effects);
  for (const VerticalJobId& job : given_up) {
    JobRecord& record = must_find(jobs_, job, kLostHasJob);
    end(record, JobState::failed, record.reason.empty() ? "party_lost" : record.reason, now, effects);
  }
  return checked(std::move(effects));
}

std::optional<Instant> CoordinatorMachine::next_deadline() const {
  std::optional<Instant> next;
  const auto take = [&next](Instant at) { next = next ? std::min(*next, at) : at; };
  for (const auto& [connection, until] : asking_) take(until);
  for (const auto& [connection, waiting] : waiting_) take(waiting.until);
  for (const auto& [job, run] : runs_) take(run.until);
  for (const auto& [job, until] : lost_) take(until);
  return next;
}

const JobRecord* CoordinatorMachine::find(const VerticalJobId& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

CoordinatorEffects CoordinatorMachine::refuse(ConnectionId connection, Refusal refusal) const {
  CoordinatorEffects effects;
  effects.answers.push_back({.to = connection, .bytes = write_refusal(refusal), .is_last = true});
  return effects;
}

CoordinatorEffects CoordinatorMachine::answer(ConnectionId connection, const JobRecord& record) const {
  CoordinatorEffects effects;
  effects.answers.push_back({.to = connection, .bytes = write_answer(view_of(record)), .is_last = true});
  return effects;
}

size_t CoordinatorMachine::running() const {
  return static_cast<size_t>(
      std::ranges::count_if(runs_, [](const auto& entry) { return entry.second.is_connected(); }));
}

CoordinatorEffects CoordinatorMachine::checked(CoordinatorEffects effects) {
  if (step_check_.is_due(asking_.size() + waiting_.size() + paired_.size() + jobs_.size())) check();
  return effects;
}

void CoordinatorMachine::check() const {
  COT_INVARIANT(asking_.size() <= limits_.asking_max, "no more connections are to ask than have a place");
  COT_INVARIANT(waiting_.size() <= limits_.waiting_max, "no more parties wait than have a place");
  COT_INVARIANT(running() <= limits_.pairs_max, "no more jobs run than have a place");
  for (const auto& [connection, waiting] : waiting_) {
    const JobRecord* const record = find(waiting.job);
    // One of two parties waits until the run begins; some of more wait for a link within it.
    const bool can_run = record != nullptr && record->is_approved() && !is_over(record->state) &&
                         (record->state != JobState::running || record->parties.size() > kJobPartiesMin);
    COT_INVARIANT(can_run, "a party waits for a job that can run");
  }
  for (const auto& [job, run] : runs_) {
    const JobRecord* const record = find(job);
    COT_INVARIANT(record != nullptr && record->state == JobState::running, kRunHasJob);
    COT_INVARIANT(record->is_approved(), "what runs was approved by all parties");
  }
  for (const auto& [job, until] : lost_) {
    const JobRecord* const record = find(job);
    COT_INVARIANT(record != nullptr && !record->is_held() &&
                      (record->state == JobState::paused || record->state == JobState::approved),
                  kLostHasJob);
  }
  for (const auto& [connection, place] : paired_) {
    const Run& run = must_find(runs_, place.first, kPairHasRun);
    const auto known = run.connections.find(place.second);
    COT_INVARIANT(known != run.connections.end() && known->second == connection, "a run knows its connections");
  }
  for (const auto& [connection, place] : dealings_) {
    const Run& run = must_find(runs_, place.first, kPairHasRun);
    COT_INVARIANT(run.dealings[place.second] == connection, "a run knows whom it deals to");
  }
  for (const auto& [connection, place] : matchers_) {
    const Run& run = must_find(runs_, place.first, kPairHasRun);
    const auto known = run.matchers.find(place.second);
    COT_INVARIANT(known != run.matchers.end() && known->second == connection, "a run knows who is matched");
  }
  for (const auto& [job, record] : jobs_) {
    COT_INVARIANT(record.state != JobState::running || runs_.contains(job), "a job that runs has a run");
    COT_INVARIANT(record.state != JobState::created || !record.is_approved(), "all approvals make a job approved");
    COT_INVARIANT(record.state != JobState::paused || record.is_approved(), "what is paused was approved");
    COT_INVARIANT(record.state != JobState::running || !record.is_held(), "what somebody has paused does not run");
  }
}

}  // namespace coterie::vertical

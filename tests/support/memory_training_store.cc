#include "tests/support/memory_training_store.h"

#include <algorithm>

#include "fl_server/records/tenant.h"
#include "scheduler/job/round_release.h"
#include "scheduler/job/weight_share.h"
#include "secure/dp/noise/noise_tree.h"

namespace coterie {
namespace {

Error no_such(const std::string& what) { return Error(ErrorCode::not_found, "no such " + what); }
Error in_conflict(const std::string& what) { return Error(ErrorCode::conflict, what); }

bool may_become(JobState from, JobState to) {
  if (from == to) return true;
  return (from == JobState::running || from == JobState::paused) && to != JobState::completed;
}

}  // namespace

Status MemoryTrainingStore::create_job(const JobRecord& job, const ModelRecord& initial,
                                       const std::optional<QuotaClaim>& owner) {
  const std::lock_guard lock(mutex_);
  if (owner) {
    const auto is_his = [&](const auto& entry) {
      const std::string& has = entry.second.owner;
      return has == owner->tenant || (has.empty() && owner->tenant == kDefaultTenant);
    };
    const auto seen = static_cast<uint64_t>(std::ranges::count_if(jobs_, is_his)) + 1;
    if (seen > owner->most) return over_quota(Quota::jobs, owner->tenant, owner->most, seen);
  }
  const std::set<Population> inherited = inherited_by(job, initial.digest);
  if (!drawn_.try_emplace(job.id, Drawn{job.spec.common.population, inherited}).second)
    return in_conflict("job exists, or did");
  jobs_.emplace(job.id, Job{job, {{initial.version, initial}}, {}, {}, owner ? owner->tenant : std::string()});
  return {};
}

Result<std::vector<JobRecord>> MemoryTrainingStore::list_jobs() {
  const std::lock_guard lock(mutex_);
  std::vector<JobRecord> jobs;
  for (const auto& [id, job] : jobs_) jobs.push_back(job.record);
  std::sort(jobs.begin(), jobs.end(), [](const JobRecord& a, const JobRecord& b) {
    return std::pair(a.created, a.id) < std::pair(b.created, b.id);
  });
  return jobs;
}

Result<JobRecord> MemoryTrainingStore::get_job(const JobId& id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  return job == jobs_.end() ? Result<JobRecord>(no_such("job")) : job->second.record;
}

Result<JobRecord> MemoryTrainingStore::set_job_state(const JobId& id, JobState to, const std::string& reason,
                                                     std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return no_such("job");
  JobRecord& record = job->second.record;
  if (revision_expected && *revision_expected != record.revision) return in_conflict("job has another revision");
  if (!may_become(record.state, to)) return in_conflict("job is " + std::string(to_string(record.state)));
  if (record.state == to) return record;
  record.state = to;
  record.reason = reason;
  ++record.revision;
  if (to != JobState::running && to != JobState::paused) erase_kept_noise(id, 0, UINT64_MAX);
  return record;
}

Result<JobProgress> MemoryTrainingStore::load_progress(const JobId& id) {
  const std::lock_guard lock(mutex_);
  return progress_of(id);
}

Result<JobProgress> MemoryTrainingStore::progress_of(const JobId& id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return no_such("job");
  JobProgress progress{.job = job->second.record,
                       .head = job->second.models.rbegin()->second,
                       .latest = {},
                       .accepted = 0,
                       .privacy_stop = {}};
  COT_ASSIGN(progress.privacy_stop, privacy_stop_of(progress.job));
  if (job->second.rounds.empty()) return progress;
  const RoundId newest = job->second.rounds.rbegin()->second;
  const auto after = rounds_.upper_bound({newest, Attempt(UINT32_MAX)});
  progress.latest = std::prev(after)->second;
  progress.accepted = accepted_[progress.latest->key].size();
  return progress;
}

RoundRecord& MemoryTrainingStore::insert_round(Job& job, uint64_t number, Attempt attempt, const ModelRecord& base,
                                               WallTime now) {
  const auto [name, fresh] = job.rounds.try_emplace(number, RoundId(next_round_));
  if (fresh) ++next_round_;
  const RoundKey key{name->second, attempt};
  RoundRecord& round = rounds_[key];
  round.key = key;
  round.job = job.record.id;
  round.number = number;
  round.base = base.version;
  round.base_model = base.digest;
  round.base_model_bytes = base.bytes;
  round.clip_norm = base.clip_norm.value_or(0);
  if (base.adaptive_mu) round.proximal_mu = base.adaptive_mu->mu;
  round.opened = now;
  const bool has_log = logs_.log_of(job.record.spec.common.population).size() > 0;
  if (keeps_ledger(job.record.spec) || has_log) round.ledger = {ledger_.size(), ledger_.head()};
  if (!needs_examples_median(job.record.spec)) return round;
  for (const auto& [other, before] : rounds_) {
    const bool is_last = before.job == job.record.id && before.number + 1 == number;
    if (is_last && before.state == RoundState::done) round.examples_median = lower_median(examples_[other]);
  }
  return round;
}

Result<RoundRecord> MemoryTrainingStore::open_round(const JobId& id, const OpenRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return no_such("job");
  Job& job = found->second;
  if (const auto name = job.rounds.find(request.number); name != job.rounds.end()) {
    if (const auto known = rounds_.find({name->second, request.attempt}); known != rounds_.end()) return known->second;
  }
  COT_ASSIGN(const JobProgress progress, progress_of(id));
  const bool next_attempt = progress.latest && progress.latest->number == request.number &&
                            progress.latest->state == RoundState::failed &&
                            progress.latest->key.attempt.value() + 1 == request.attempt.value();
  if (job.record.state != JobState::running || job.record.rounds_done + 1 != request.number ||
      (request.attempt != Attempt(1) && !next_attempt) || progress.head.version != request.base.version ||
      !progress.privacy_stop.empty()) {
    return in_conflict("job is not at this round");
  }
  return insert_round(job, request.number, request.attempt, request.base, now);
}

Result<bool> MemoryTrainingStore::move_round(const MoveRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = rounds_.find(request.key);
  if (found == rounds_.end() || found->second.state != request.from) return false;
  if (request.if_nobody_counts && !accepted_[request.key].empty()) return false;
  RoundRecord& round = found->second;
  const PrivacySettings& privacy = jobs_.at(round.job).record.spec.horizontal().privacy;
  if (request.to == RoundState::failed && request.voids_release && privacy.has_central_noise() &&
      ledger_.find_reserve(request.key) != nullptr) {
    COT_ASSIGN(const LedgerRecord record, ledger_.void_reserve(request.key, now));
    COT_TRY(append_to_ledger(record));
  }
  round.state = request.to;
  round.reason = request.reason;
  round.selected = std::max(round.selected, request.selected);
  if (request.to == RoundState::failed) {
    round.closed = now;
    salts_.erase(request.key);
  }
  return true;
}

Result<JobProgress> MemoryTrainingStore::commit_round(const JobId& id, const CommitRound& request, WallTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = rounds_.find(request.round.key);
  if (found == rounds_.end()) return in_conflict("no such round");
  RoundRecord& round = found->second;
  if (round.state == RoundState::done) return progress_of(id);
  if (round.state != RoundState::frozen && round.state != RoundState::finalizing)
    return in_conflict("not being finalized");
  Job& job = jobs_.at(id);
  if (has_noise(job.record.spec) != request.round.noise_commitment.has_value()) return in_conflict("noise");
  const HorizontalSettings& settings = job.record.spec.horizontal();
  const bool is_charged_before = ledger_.find_reserve(round.key) == nullptr && is_charged(ledger_, job.record);
  if (is_charged_before && !salts_.contains(round.key)) return Error(ErrorCode::data_loss, "no salt");
  if (request.round.noise_commitment && !is_charged_before) {
    COT_ASSIGN(const LedgerRecord commit,
               ledger_.commit(round.key, release_of(job.record.spec.horizontal(), job.record.value_count),
                              request.round.totals.updates, *request.round.noise_commitment, now));
    COT_TRY(append_to_ledger(commit));
  }
  const bool goes_on = job.record.state == JobState::running || job.record.state == JobState::paused;
  const bool keeps = settings.privacy.has_tree_noise() && goes_on && round.number < settings.rounds.count;
  erase_kept_noise(id, keeps ? before_node(round.number) : 0, round.number);
  if (!keeps) salts_.erase(round.key);
  job.models[request.round.model.version] = request.round.model;
  round.state = RoundState::done;
  round.totals = request.round.totals;
  round.closed = now;
  job.record.rounds_done = request.number;
  ++job.record.revision;
  const bool open = job.record.state == JobState::running || job.record.state == JobState::paused;
  if (request.completes_job && open) job.record.state = JobState::completed;
  COT_ASSIGN(const std::string stop, privacy_stop_of(job.record));
  if (request.opens_next && job.record.state == JobState::running && stop.empty()) {
    insert_round(job, request.number + 1, Attempt(1), request.round.model, now);
  }
  return progress_of(id);
}

Result<std::vector<RoundRecord>> MemoryTrainingStore::list_rounds(const JobId& id, const RoundQuery& query) {
  const std::lock_guard lock(mutex_);
  std::vector<RoundRecord> rounds;
  for (const auto& [key, round] : rounds_) {
    const bool is_before = !query.before || std::pair(round.number, round.key.attempt) < *query.before;
    if (round.job == id && is_before && (!query.state || round.state == *query.state)) rounds.push_back(round);
  }
  std::sort(rounds.begin(), rounds.end(), [](const RoundRecord& a, const RoundRecord& b) {
    return std::pair(a.number, a.key.attempt) > std::pair(b.number, b.key.attempt);
  });
  rounds.resize(std::min(rounds.size(), query.limit));
  return rounds;
}

BatchOutcome MemoryTrainingStore::accept_batch(const PartialRecord& partial, const std::vector<AcceptRow>& rows) {
  const std::lock_guard lock(mutex_);
  PartialRecord written = partial;
  if (partials_.contains(partial.id)) {
    if (!defects_.forgets_partial_ids) return BatchDone{};
    written.id += "'";
  }
  const auto round = rounds_.find(partial.key);
  const bool collecting = round != rounds_.end() && round->second.state == RoundState::collecting;
  if (!collecting && !(defects_.ignores_round_state && round != rounds_.end())) return BatchClosed{};
  std::set<DeviceId>& accepted = accepted_[partial.key];
  BatchConflict conflict;
  std::set<DeviceId> batch;
  for (const AcceptRow& row : rows) {
    if (accepted.contains(row.device) || !batch.insert(row.device).second)
      conflict.accepted_before.push_back(row.device);
  }
  const bool repeated = written.id != partial.id;
  std::ranges::sort(conflict.accepted_before);
  if (!conflict.accepted_before.empty() && !defects_.ignores_conflicts && !repeated) return conflict;
  for (const AcceptRow& row : rows) {
    accepted.insert(row.device);
    examples_[partial.key].push_back(row.examples);
  }
  partials_[written.id] = written;
  return BatchDone{};
}

Result<uint64_t> MemoryTrainingStore::count_accepted(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  return accepted_[key].size();
}

Result<std::vector<DeviceId>> MemoryTrainingStore::list_accepted(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  const std::set<DeviceId>& devices = accepted_[key];
  return std::vector<DeviceId>(devices.begin(), devices.end());
}

Result<bool> MemoryTrainingStore::is_accepted(const RoundKey& key, const DeviceId& device) {
  const std::lock_guard lock(mutex_);
  return accepted_[key].contains(device);
}

Result<UpdateFate> MemoryTrainingStore::look_up(const RoundKey& key, const DeviceId& device) {
  const std::lock_guard lock(mutex_);
  const auto round = rounds_.find(key);
  if (round == rounds_.end()) return UpdateFate{.is_over = true, .is_forgotten = true};
  const std::set<DeviceId>& devices = accepted_[key];
  UpdateFate fate{devices.contains(device), round->second.state > RoundState::collecting};
  fate.is_forgotten = !fate.is_accepted && round->second.state == RoundState::done &&
                      (devices.empty() || devices.size() != round->second.totals.updates);
  return fate;
}

Result<std::vector<PartialRecord>> MemoryTrainingStore::list_partials(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  std::vector<PartialRecord> partials;
  for (const auto& [id, partial] : partials_) {
    if (partial.key == key) partials.push_back(partial);
  }
  return partials;
}

Result<std::vector<PartialRecord>> MemoryTrainingStore::list_finished_partials(size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<PartialRecord> partials;
  for (const auto& [id, partial] : partials_) {
    if (rounds_.at(partial.key).state >= RoundState::done && partials.size() < limit) partials.push_back(partial);
  }
  return partials;
}

Status MemoryTrainingStore::forget_partials(const std::vector<std::string>& ids) {
  const std::lock_guard lock(mutex_);
  for (const std::string& id : ids) partials_.erase(id);
  return {};
}

// ---- Privacy

Result<std::vector<ModelRecord>> MemoryTrainingStore::list_models(const JobId& id, const ModelQuery& query) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  std::vector<ModelRecord> models;
  if (job == jobs_.end()) return models;
  for (const auto& [version, model] : job->second.models) {
    if (!query.after || model.version > *query.after) models.push_back(model);
  }
  if (query.newest_first) std::ranges::reverse(models);
  if (query.limit && models.size() > *query.limit) models.resize(*query.limit);
  return models;
}

Result<ModelRecord> MemoryTrainingStore::get_model(const JobId& id, ModelVersion version) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || !job->second.models.contains(version)) return no_such("model");
  return job->second.models.at(version);
}

Result<std::optional<ModelRelease>> MemoryTrainingStore::released_model(const JobId& id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || job->second.releases.empty()) return std::optional<ModelRelease>();
  return std::optional<ModelRelease>(job->second.releases.back());
}

Result<std::map<JobId, ModelRelease>> MemoryTrainingStore::released_models() {
  const std::lock_guard lock(mutex_);
  std::map<JobId, ModelRelease> released;
  for (const auto& [id, job] : jobs_) {
    if (!job.releases.empty()) released.emplace(id, job.releases.back());
  }
  return released;
}

Result<ModelRelease> MemoryTrainingStore::promote_model(const JobId& id, ModelVersion version, WallTime now,
                                                        std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return no_such("job");
  Job& job = found->second;
  if (revision_expected && *revision_expected != job.record.revision) return in_conflict("job has another revision");
  if (!job.models.contains(version)) return no_such("model");
  if (!job.releases.empty() && job.releases.back().version == version) return job.releases.back();
  job.releases.push_back({job.releases.size() + 1, version, now});
  ++job.record.revision;
  return job.releases.back();
}

Result<ModelRelease> MemoryTrainingStore::roll_back_model(const JobId& id, std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return no_such("job");
  Job& job = found->second;
  if (revision_expected && *revision_expected != job.record.revision) return in_conflict("job has another revision");
  if (job.releases.size() < 2) return in_conflict("nothing was promoted before");
  job.releases.pop_back();
  ++job.record.revision;
  return job.releases.back();
}

}  // namespace coterie

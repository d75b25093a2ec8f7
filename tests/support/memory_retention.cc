// What MemoryTrainingStore does as a RetentionStore.
#include <algorithm>
#include <iterator>
#include <map>

#include "tests/support/memory_training_store.h"

namespace coterie {
namespace {

Error no_such(const std::string& what) { return Error(ErrorCode::not_found, "no such " + what); }
Error in_conflict(const std::string& what) { return Error(ErrorCode::conflict, what); }

}  // namespace

Result<ModelBlobs> MemoryTrainingStore::list_model_blobs(const std::optional<ModelBlobs::Place>& after, size_t limit) {
  const std::lock_guard lock(mutex_);
  std::map<ModelBlobs::Place, const ModelRecord*> all;
  for (const auto* const jobs : {&jobs_, &deleted_}) {
    for (const auto& [id, job] : *jobs) {
      for (const auto& [version, model] : job.models) all.emplace(ModelBlobs::Place(id, model.version), &model);
    }
  }
  ModelBlobs page;
  size_t count = 0;
  for (auto at = after ? all.upper_bound(*after) : all.begin(); at != all.end() && count < limit; ++at, ++count) {
    const ModelRecord& model = *at->second;
    page.last = at->first;
    page.blobs.push_back(model.digest);
    if (model.optimizer_state) page.blobs.push_back(*model.optimizer_state);
    if (model.exact) page.blobs.push_back(*model.exact);
    for (const DeltaFile& delta : model.deltas) page.blobs.push_back(delta.file);
  }
  if (count < limit) page.last.reset();
  return page;
}

Result<std::optional<WallTime>> MemoryTrainingStore::oldest_under_way(RoundState from) {
  const std::lock_guard lock(mutex_);
  std::optional<WallTime> oldest;
  for (const auto& [key, round] : rounds_) {
    const JobState job = jobs_.at(round.job).record.state;
    if (job != JobState::running && job != JobState::paused) continue;
    const bool is_under_way = round.state >= from && round.state < RoundState::done;
    if (is_under_way && (!oldest || round.opened < *oldest)) oldest = round.opened;
  }
  return oldest;
}

Result<std::vector<ModelVersion>> MemoryTrainingStore::list_releases(const JobId& id) {
  const std::lock_guard lock(mutex_);
  std::set<ModelVersion> versions;
  if (const auto job = jobs_.find(id); job != jobs_.end()) {
    for (const ModelRelease& release : job->second.releases) versions.insert(release.version);
  }
  return std::vector<ModelVersion>(versions.begin(), versions.end());
}

Result<std::vector<ModelRecord>> MemoryTrainingStore::forget_models(const JobId& id,
                                                                    const std::vector<ModelVersion>& versions) {
  const std::lock_guard lock(mutex_);
  std::vector<ModelRecord> gone;
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return gone;
  Job& job = found->second;
  for (const ModelVersion version : versions) {
    const auto model = job.models.find(version);
    if (model == job.models.end() || version == ModelVersion(0) || std::next(model) == job.models.end()) continue;
    const bool is_released = std::ranges::count(job.releases, version, &ModelRelease::version) > 0;
    const bool is_base = std::ranges::any_of(rounds_, [&](const auto& entry) {
      const RoundRecord& round = entry.second;
      return round.job == id && round.base == version && round.state < RoundState::done;
    });
    if (is_released || is_base) continue;
    gone.push_back(model->second);
    job.models.erase(model);
  }
  return gone;
}

Result<std::vector<UnnamedBlob>> MemoryTrainingStore::forget_exact_models(const JobId& id) {
  const std::lock_guard lock(mutex_);
  std::vector<UnnamedBlob> gone;
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return gone;
  for (auto& [version, model] : found->second.models) {
    const bool is_base = std::ranges::any_of(rounds_, [&, version = version](const auto& entry) {
      const RoundRecord& round = entry.second;
      return round.job == id && round.base == version && round.state < RoundState::done;
    });
    if (!model.exact || is_base || version == found->second.models.rbegin()->first) continue;
    gone.push_back({*model.exact, model.created});
    model.exact.reset();
  }
  return gone;
}

Result<ForgottenAccepted> MemoryTrainingStore::forget_accepted(WallTime ended_before, size_t limit,
                                                               const RoundKey& after) {
  const std::lock_guard lock(mutex_);
  ForgottenAccepted gone{.rows = 0, .seen = after};
  for (const auto& [key, round] : rounds_) {
    if (key <= after || round.state < RoundState::done || round.closed >= ended_before) continue;
    const JobRecord& job = jobs_.at(round.job).record;
    const RoundSettings& settings = job.spec.horizontal().rounds;
    const bool goes_on = job.state == JobState::running || job.state == JobState::paused;
    if (goes_on && settings.separation_min >= 2 && round.state == RoundState::done &&
        round.number > settings.far_enough_before(job.rounds_done + 1))
      continue;
    std::set<DeviceId>& devices = accepted_[key];
    if (devices.empty()) continue;
    for (; gone.rows < limit && !devices.empty(); ++gone.rows) devices.erase(devices.begin());
    if (gone.rows >= limit) break;
    gone.seen = key;
  }
  return gone;
}

Result<uint64_t> MemoryTrainingStore::forget_rounds(const JobId& id, uint64_t number, WallTime ended_before,
                                                    size_t limit) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || job->second.rounds.empty()) return 0;
  const uint64_t newest = job->second.rounds.rbegin()->first;
  uint64_t gone = 0;
  for (auto round = rounds_.begin(); round != rounds_.end() && gone < limit;) {
    const auto& [key, record] = *round;
    const bool has_partials =
        std::ranges::any_of(partials_, [&key](const auto& partial) { return partial.second.key == key; });
    if (record.job != id || record.number >= std::min(number, newest) || record.state < RoundState::done ||
        record.closed >= ended_before || !accepted_[key].empty() || has_partials || salts_.contains(key)) {
      ++round;
      continue;
    }
    const RoundId name = key.round;
    const uint64_t of = record.number;
    accepted_.erase(key);
    round = rounds_.erase(round);
    ++gone;
    if (rounds_.lower_bound({name, Attempt(0)}) == rounds_.upper_bound({name, Attempt(UINT32_MAX)}))
      job->second.rounds.erase(of);
  }
  return gone;
}

// Its rounds go at once, as nobody can ask for them.
Status MemoryTrainingStore::delete_job(const JobId& id, std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return no_such("job");
  const JobRecord& record = job->second.record;
  if (revision_expected && *revision_expected != record.revision) return in_conflict("job has another revision");
  if (record.state == JobState::running || record.state == JobState::paused) return in_conflict("job has not ended");
  for (auto round = rounds_.begin(); round != rounds_.end();) {
    const RoundKey key = round->first;
    if (round->second.job != id) {
      ++round;
      continue;
    }
    accepted_.erase(key);
    salts_.erase(key);
    std::erase_if(partials_, [&key](const auto& partial) { return partial.second.key == key; });
    round = rounds_.erase(round);
  }
  deleted_.insert(jobs_.extract(job));
  return {};
}

Result<std::vector<JobId>> MemoryTrainingStore::list_deleted_jobs() {
  const std::lock_guard lock(mutex_);
  std::vector<JobId> jobs;
  for (const auto& [id, job] : deleted_) jobs.push_back(id);
  return jobs;
}

Result<ForgottenJob> MemoryTrainingStore::forget_job(const JobId& id, size_t limit) {
  const std::lock_guard lock(mutex_);
  const auto job = deleted_.find(id);
  if (job == deleted_.end()) return no_such("deleted job");
  ForgottenJob forgotten;
  forgotten.plan = {job->second.record.plan, job->second.record.created};
  auto& models = job->second.models;
  for (; !models.empty() && forgotten.models.size() < limit; models.erase(models.begin()))
    forgotten.models.push_back(models.begin()->second);
  forgotten.is_gone = forgotten.models.empty();
  if (forgotten.is_gone) deleted_.erase(job);
  return forgotten;
}

}  // namespace coterie

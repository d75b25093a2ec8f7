// Rows that are removed when nobody needs them any more.
#include <set>
#include <string>

#include "fl_server/records/delta_chain.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

constexpr uint64_t kDone = static_cast<uint64_t>(RoundState::done);
constexpr uint64_t kFailed = static_cast<uint64_t>(RoundState::failed);

}  // namespace

Result<ModelBlobs> SqlTrainingStore::list_model_blobs(const std::optional<ModelBlobs::Place>& after, size_t limit) {
  const std::lock_guard lock(mutex_);
  // No job has an empty name.
  Statement rows = database_.prepare(
      "SELECT job, version, digest, optimizer_state, exact, deltas FROM model WHERE (job, version) > (?1, ?2) "
      "ORDER BY job, version LIMIT ?3");
  rows << (after ? after->first.value() : std::string()) << (after ? after->second.value() : uint64_t{0})
       << static_cast<uint64_t>(limit);
  ModelBlobs page;
  size_t count = 0;
  for (;; ++count) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) break;
    page.last.emplace(JobId(rows.text(0)), ModelVersion(rows.u64(1)));
    page.blobs.push_back(rows.digest(2));
    for (const int column : {3, 4}) {
      if (!rows.is_null(column)) page.blobs.push_back(rows.digest(column));
    }
    if (rows.is_null(5)) continue;
    COT_ASSIGN(const std::vector<DeltaFile> chain, decode_delta_chain(rows.blob(5)));
    for (const DeltaFile& delta : chain) page.blobs.push_back(delta.file);
  }
  if (count < limit) page.last.reset();
  return page;
}

Result<std::optional<WallTime>> SqlTrainingStore::oldest_under_way(RoundState from) {
  const std::lock_guard lock(mutex_);
  Statement row = database_.prepare(
      "SELECT min(r.opened) FROM round r JOIN job j ON j.id = r.job WHERE r.state >= ? AND r.state NOT IN (?, ?) "
      "AND j.state IN (1, 2)");
  row << static_cast<uint64_t>(from) << kDone << kFailed;
  COT_ASSIGN(const bool found, row.step());
  if (!found || row.is_null(0)) return std::optional<WallTime>();
  return std::optional<WallTime>(row.time(0));
}

Result<std::vector<ModelVersion>> SqlTrainingStore::list_releases(const JobId& job) {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT DISTINCT version FROM model_release WHERE job = ? ORDER BY version");
  rows << job.value();
  std::vector<ModelVersion> versions;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return versions;
    versions.emplace_back(rows.u64(0));
  }
}

// The first, the newest, those of list_releases(), what an attempt that has not ended trains from, and what a canary
// gives to devices.
Result<std::set<ModelVersion>> SqlTrainingStore::needed_versions(const JobId& job) {
  Statement rows = database_.prepare(
      "SELECT max(version) FROM model WHERE job = ?1 UNION SELECT version FROM model_release WHERE job = ?1 "
      "UNION SELECT base_version FROM round WHERE job = ?1 AND state NOT IN (?2, ?3) "
      "UNION SELECT version FROM canary WHERE job = ?1 AND state = 1");
  rows << job.value() << kDone << kFailed;
  std::set<ModelVersion> versions = {ModelVersion(0)};
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return versions;
    if (!rows.is_null(0)) versions.emplace(rows.u64(0));
  }
}

Result<std::vector<ModelRecord>> SqlTrainingStore::forget_models(const JobId& job,
                                                                 const std::vector<ModelVersion>& versions) {
  const std::lock_guard lock(mutex_);
  std::vector<ModelRecord> gone;
  const Status done = database_.transaction(os::crash::forget_models, [&]() -> Status {
    gone.clear();
    COT_TRY(check_fence());
    // Whoever opens a round, commits one or promotes a version locks the job, too.
    COT_TRY(lock_job(job));
    COT_ASSIGN(const std::set<ModelVersion> needed, needed_versions(job));
    for (const ModelVersion version : versions) {
      if (needed.contains(version)) continue;
      const Result<ModelRecord> model = read_model(job, version);
      if (!model && model.error().code() == ErrorCode::not_found) continue;
      COT_TRY(model);
      Statement remove = database_.prepare("DELETE FROM model WHERE job = ? AND version = ?");
      remove << job.value() << version.value();
      COT_TRY(remove.run());
      gone.push_back(*model);
    }
    return {};
  });
  if (!done) return done.error();
  return gone;
}

#define COT_EXACT_THAT_NOBODY_READS                                      \
  " WHERE job = ?1 AND exact IS NOT NULL "                               \
  "AND version < (SELECT max(m.version) FROM model m WHERE m.job = ?1) " \
  "AND NOT EXISTS (SELECT 1 FROM round a WHERE a.job = ?1 "              \
  "AND a.base_version = model.version AND a.state NOT IN (?2, ?3))"

Result<std::vector<UnnamedBlob>> SqlTrainingStore::forget_exact_models(const JobId& job) {
  const std::lock_guard lock(mutex_);
  std::vector<UnnamedBlob> gone;
  const Status done = database_.transaction(os::crash::forget_models, [&]() -> Status {
    gone.clear();
    COT_TRY(check_fence());
    COT_TRY(lock_job(job));
    Statement rows = database_.prepare("SELECT exact, created FROM model" COT_EXACT_THAT_NOBODY_READS);
    rows << job.value() << kDone << kFailed;
    for (;;) {
      COT_ASSIGN(const bool more, rows.step());
      if (!more) break;
      gone.push_back({rows.digest(0), rows.time(1)});
    }
    if (gone.empty()) return {};
    Statement update = database_.prepare("UPDATE model SET exact = NULL" COT_EXACT_THAT_NOBODY_READS);
    update << job.value() << kDone << kFailed;
    return update.run();
  });
  if (!done) return done.error();
  return gone;
}

// Rounds of jobs that go on, behind which the devices rest that they count (AcceptStore::list_resting): by job.
Result<std::map<JobId, uint64_t>> SqlTrainingStore::read_rests() {
  std::map<JobId, uint64_t> rests;
  Statement rows = database_.prepare("SELECT id FROM job WHERE state IN (1, 2)");
  std::vector<JobId> running;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) break;
    running.emplace_back(rows.text(0));
  }
  for (const JobId& id : running) {
    COT_ASSIGN(const JobRecord job, read_job(id));
    const RoundSettings& settings = job.spec.horizontal().rounds;
    if (settings.separation_min >= 2) rests.emplace(id, settings.far_enough_before(job.rounds_done + 1));
  }
  return rests;
}

// Attempts behind `after` that ended before, and that nobody rests after, with rows; by number, `limit` at most.
Result<std::vector<RoundKey>> SqlTrainingStore::list_forgettable(WallTime ended_before,
                                                                 const std::map<JobId, uint64_t>& rests,
                                                                 const RoundKey& after, size_t limit) {
  Statement ended = database_.prepare(
      "SELECT r.id, r.attempt, r.job, r.number, r.state FROM round r WHERE (r.id, r.attempt) > (?, ?) AND "
      "r.state IN (?, ?) AND r.closed < ? AND "
      "EXISTS (SELECT 1 FROM accept a WHERE a.round = r.id AND a.attempt = r.attempt) ORDER BY r.id, r.attempt");
  ended << after.round.value() << after.attempt.value() << kDone << kFailed << ended_before;
  std::vector<RoundKey> keys;
  while (keys.size() < limit) {
    COT_ASSIGN(const bool found, ended.step());
    if (!found) break;
    const auto rest = rests.find(JobId(ended.text(2)));
    const bool is_needed = rest != rests.end() && ended.u64(3) > rest->second && ended.u64(4) == kDone;
    if (!is_needed) keys.push_back({RoundId(ended.u64(0)), Attempt(ended.u32(1))});
  }
  return keys;
}

// The attempts first, and the rows of each by its key: no index is needed on when an attempt ended.
Result<ForgottenAccepted> SqlTrainingStore::forget_accepted(WallTime ended_before, size_t limit,
                                                            const RoundKey& after) {
  const std::lock_guard lock(mutex_);
  ForgottenAccepted gone;
  const Status done = database_.transaction(os::crash::forget_accepted, [&]() -> Status {
    gone = {.rows = 0, .seen = after};
    COT_TRY(check_fence());
    COT_ASSIGN(const auto rests, read_rests());
    COT_ASSIGN(const std::vector<RoundKey> keys, list_forgettable(ended_before, rests, after, limit));
    for (const RoundKey& key : keys) {
      Statement remove = database_.prepare(
          "DELETE FROM accept WHERE round = ?1 AND attempt = ?2 AND device IN "
          "(SELECT device FROM accept WHERE round = ?1 AND attempt = ?2 ORDER BY device LIMIT ?3)");
      remove << key.round.value() << key.attempt.value() << static_cast<uint64_t>(limit - gone.rows);
      COT_TRY(remove.run());
      gone.rows += static_cast<uint64_t>(database_.changes());
      if (gone.rows >= limit) break;  // some of its rows may be left
      gone.seen = key;
    }
    return {};
  });
  if (!done) return done.error();
  return gone;
}

Result<uint64_t> SqlTrainingStore::forget_rounds(const JobId& job, uint64_t number, WallTime ended_before,
                                                 size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<RoundKey> gone;
  const Status done = database_.transaction(os::crash::forget_rounds, [&]() -> Status {
    gone.clear();
    COT_TRY(check_fence());
    COT_TRY(lock_job(job));
    {
      Statement rows = database_.prepare(
          "SELECT r.id, r.attempt FROM round r WHERE r.job = ?1 AND r.number < ?2 "
          "AND r.number < (SELECT max(n.number) FROM round n WHERE n.job = ?1) "
          "AND r.state IN (?3, ?4) AND r.closed < ?5 "
          "AND NOT EXISTS (SELECT 1 FROM accept a WHERE a.round = r.id AND a.attempt = r.attempt) "
          "AND NOT EXISTS (SELECT 1 FROM partial p WHERE p.round = r.id AND p.attempt = r.attempt) "
          "AND NOT EXISTS (SELECT 1 FROM noise_salt s WHERE s.round = r.id AND s.attempt = r.attempt) "
          "ORDER BY r.number, r.attempt LIMIT ?6");
      rows << job.value() << number << kDone << kFailed << ended_before << static_cast<uint64_t>(limit);
      for (;;) {
        COT_ASSIGN(const bool more, rows.step());
        if (!more) break;
        gone.push_back({RoundId(rows.u64(0)), Attempt(rows.u32(1))});
      }
    }
    for (const RoundKey& key : gone) {
      Statement remove = database_.prepare("DELETE FROM round WHERE id = ? AND attempt = ?");
      remove << key.round.value() << key.attempt.value();
      COT_TRY(remove.run());
      Statement gates = database_.prepare("DELETE FROM round_gates WHERE round = ? AND attempt = ?");
      gates << key.round.value() << key.attempt.value();
      COT_TRY(gates.run());
      // Its number is never given again: both engines count on from the highest that there ever was.
      Statement name = database_.prepare(
          "DELETE FROM round_name WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM round r WHERE r.id = ?1)");
      name << key.round.value();
      COT_TRY(name.run());
    }
    return {};
  });
  if (!done) return done.error();
  return gone.size();
}

Status SqlTrainingStore::delete_job(const JobId& id, std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::delete_job, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(const JobRecord job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    if (job.state == JobState::running || job.state == JobState::paused) {
      return Error(ErrorCode::conflict, "job " + id.value() + " is " + std::string(to_string(job.state)) +
                                            ": only one that has ended can be deleted");
    }
    COT_ASSIGN(std::optional<CanaryRecord> canary, read_running_canary(job.spec.common.population));
    if (canary && canary->canary.job == id) {
      return Error(ErrorCode::conflict,
                   "canary " + canary->id + " of job " + id.value() + " runs: end it first, or promote its version");
    }
    Statement update = database_.prepare("UPDATE job SET deleted = 1 WHERE id = ?");
    update << id.value();
    return update.run();
  });
}

Result<std::vector<JobId>> SqlTrainingStore::list_deleted_jobs() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT id FROM job WHERE deleted = 1 ORDER BY id");
  std::vector<JobId> jobs;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return jobs;
    jobs.emplace_back(rows.text(0));
  }
}

Result<ForgottenJob> SqlTrainingStore::forget_job(const JobId& id, size_t limit) {
  const std::lock_guard lock(mutex_);
  ForgottenJob forgotten;
  const Status done = database_.transaction(os::crash::forget_job, [&]() -> Status {
    forgotten = {};
    COT_TRY(check_fence());
    COT_TRY(lock_job(id));
    {
      Statement row = database_.prepare("SELECT plan, created FROM job WHERE id = ? AND deleted = 1");
      row << id.value();
      COT_ASSIGN(const bool found, row.step());
      if (!found) return Error(ErrorCode::not_found, "no such deleted job: " + id.value());
      forgotten.plan = {row.digest(0), row.time(1)};
    }
    const auto remove = [&](const char* sql) -> Result<bool> {
      Statement rows = database_.prepare(sql);
      rows << id.value() << static_cast<uint64_t>(limit);
      COT_TRY(rows.run());
      return database_.changes() > 0;
    };
    // What hangs on a round before it; the blobs of partial sums are removed at the next start, as no row names them.
    for (const char* const sql :
         {"DELETE FROM accept WHERE (round, attempt, device) IN (SELECT a.round, a.attempt, a.device FROM accept a "
          "JOIN round r ON r.id = a.round AND r.attempt = a.attempt WHERE r.job = ? LIMIT ?)",
          "DELETE FROM partial WHERE id IN (SELECT p.id FROM partial p "
          "JOIN round r ON r.id = p.round AND r.attempt = p.attempt WHERE r.job = ? LIMIT ?)",
          "DELETE FROM noise_salt WHERE (round, attempt) IN (SELECT s.round, s.attempt FROM noise_salt s "
          "JOIN round r ON r.id = s.round AND r.attempt = s.attempt WHERE r.job = ? LIMIT ?)",
          "DELETE FROM round_gates WHERE (round, attempt, life) IN (SELECT g.round, g.attempt, g.life "
          "FROM round_gates g JOIN round r ON r.id = g.round AND r.attempt = g.attempt WHERE r.job = ? LIMIT ?)",
          "DELETE FROM round WHERE (id, attempt) IN (SELECT id, attempt FROM round WHERE job = ? LIMIT ?)",
          "DELETE FROM round_name WHERE id IN (SELECT id FROM round_name WHERE job = ? LIMIT ?)",
          "DELETE FROM model_release WHERE (job, seq) IN (SELECT job, seq FROM model_release WHERE job = ? LIMIT ?)",
          "DELETE FROM canary_source WHERE (canary, name) IN (SELECT s.canary, s.name FROM canary_source s "
          "JOIN canary c ON c.id = s.canary WHERE c.job = ? LIMIT ?)",
          "DELETE FROM canary WHERE id IN (SELECT id FROM canary WHERE job = ? LIMIT ?)"}) {
      COT_ASSIGN(const bool had_some, remove(sql));
      if (had_some) return {};
    }
    COT_ASSIGN(forgotten.models, read_models(id));
    if (forgotten.models.size() > limit) forgotten.models.resize(limit);
    for (const ModelRecord& model : forgotten.models) {
      Statement row = database_.prepare("DELETE FROM model WHERE job = ? AND version = ?");
      row << id.value() << model.version.value();
      COT_TRY(row.run());
    }
    if (!forgotten.models.empty()) return {};
    Statement row = database_.prepare("DELETE FROM job WHERE id = ?");
    row << id.value();
    COT_TRY(row.run());
    forgotten.is_gone = true;
    return {};
  });
  if (!done) return done.error();
  return forgotten;
}

}  // namespace coterie

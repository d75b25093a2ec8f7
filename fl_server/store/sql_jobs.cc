// Jobs: their settings as JSON, and whether they run.
#include "fl_server/json/job_json.h"
#include "fl_server/records/tenant.h"
#include "fl_server/store/sql_tenant_lock.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

#define COT_JOB_COLUMNS \
  "id, spec, state, reason, plan, plan_bytes, value_count, rounds_done, created, revision, trained_value_count"

Result<JobRecord> job_from(Statement& row) {
  JobRecord job;
  job.id = JobId(row.text(0));
  COT_ASSIGN(job.spec, job_settings_from_stored_json(row.text(1)));
  job.state = static_cast<JobState>(row.integer(2));
  job.reason = row.text(3);
  job.plan = row.digest(4);
  job.plan_bytes = row.u32(5);
  job.value_count = row.u64(6);
  job.rounds_done = row.u64(7);
  job.created = row.time(8);
  job.revision = row.u64(9);
  job.trained_value_count = row.u64(10);
  return job;
}

bool may_become(JobState from, JobState to) {
  if (from == to) return true;
  if (from != JobState::running && from != JobState::paused) return false;
  return to != JobState::completed;
}

}  // namespace

// Counted behind the lock: whoever asks at the same time, on this server or another, counts this job or is counted.
Status SqlTrainingStore::insert_owner(const JobId& id, const QuotaClaim& owner) {
  COT_TRY(lock_tenant(database_, owner.tenant));
  Statement row = database_.prepare(
      "SELECT count(*) FROM job j LEFT JOIN tenancy t ON t.kind = 1 AND t.name = j.id "
      "WHERE j.deleted = 0 AND coalesce(t.tenant, 'default') = ?");
  row << owner.tenant;
  COT_ASSIGN(const bool counted, row.step());
  const uint64_t seen = (counted ? row.u64(0) : 0) + 1;
  if (seen > owner.most) return over_quota(Quota::jobs, owner.tenant, owner.most, seen);
  Statement insert = database_.prepare("INSERT INTO tenancy(kind, name, tenant) VALUES(?, ?, ?)");
  insert << static_cast<uint64_t>(Owned::job) << id.value() << owner.tenant;
  return insert.run();
}

Status SqlTrainingStore::create_job(const JobRecord& job, const ModelRecord& initial,
                                    const std::optional<QuotaClaim>& owner) {
  const std::lock_guard lock(mutex_);
  return database_.transaction(os::crash::create_job, [&]() -> Status {
    if (owner) COT_TRY(insert_owner(job.id, *owner));
    Statement insert =
        database_.prepare("INSERT INTO job(" COT_JOB_COLUMNS ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert << job.id.value() << job_settings_to_json_text(job.spec) << static_cast<uint64_t>(job.state) << job.reason
           << job.plan << job.plan_bytes << job.value_count << job.rounds_done << job.created << job.revision
           << job.trained_value_count;
    COT_TRY(insert.run());
    COT_TRY(insert_populations(job, initial.digest));
    return insert_model(initial);
  });
}

Result<std::vector<JobRecord>> SqlTrainingStore::list_jobs() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_JOB_COLUMNS " FROM job WHERE deleted = 0 ORDER BY created, id");
  std::vector<JobRecord> jobs;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return jobs;
    COT_ASSIGN(JobRecord job, job_from(rows));
    jobs.push_back(std::move(job));
  }
}

Result<JobRecord> SqlTrainingStore::read_job(const JobId& id) {
  Statement row = database_.prepare("SELECT " COT_JOB_COLUMNS " FROM job WHERE id = ? AND deleted = 0");
  row << id.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return Error(ErrorCode::not_found, "no such job: " + id.value());
  return job_from(row);
}

// For what is asked by a job that may be deleted, and has rows of its own.
Result<bool> SqlTrainingStore::is_deleted(const JobId& id) {
  Statement row = database_.prepare("SELECT 1 FROM job WHERE id = ? AND deleted = 1");
  row << id.value();
  return row.step();
}

Result<JobRecord> SqlTrainingStore::get_job(const JobId& id) {
  const std::lock_guard lock(mutex_);
  return read_job(id);
}

Status SqlTrainingStore::check_revision(const JobRecord& job, std::optional<uint64_t> expected) {
  if (!expected || *expected == job.revision) return {};
  return Error(ErrorCode::conflict, "job " + job.id.value() + " has revision " + std::to_string(job.revision) +
                                        ", not " + std::to_string(*expected) + ": somebody has changed it");
}

Result<JobRecord> SqlTrainingStore::set_job_state(const JobId& id, JobState to, const std::string& reason,
                                                  std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  JobRecord job;
  const Status done = database_.transaction(os::crash::set_job_state, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    if (!may_become(job.state, to)) {
      return Error(ErrorCode::conflict, "job " + id.value() + " is " + std::string(to_string(job.state)) +
                                            " and cannot become " + std::string(to_string(to)));
    }
    if (job.state == to) return {};
    job.state = to;
    job.reason = reason;
    ++job.revision;
    Statement update = database_.prepare("UPDATE job SET state = ?, reason = ?, revision = ? WHERE id = ?");
    update << static_cast<uint64_t>(job.state) << job.reason << job.revision << id.value();
    COT_TRY(update.run());
    // No round of it takes noise off the model any more.
    return to == JobState::running || to == JobState::paused ? Status() : erase_kept_noise(id, 0, INT64_MAX);
  });
  if (!done) return done.error();
  return job;
}

Status SqlTrainingStore::touch_job(const JobId& id) {
  Statement update = database_.prepare("UPDATE job SET revision = revision + 1 WHERE id = ?");
  update << id.value();
  return update.run();
}

}  // namespace coterie

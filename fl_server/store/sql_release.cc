// Which version of a job's model applications are told to use.
#include "fl_server/store/sql_round_store.h"

namespace coterie {

Result<std::optional<ModelRelease>> SqlRoundStore::read_release(const JobId& id) {
  Statement row =
      database_.prepare("SELECT seq, version, time FROM model_release WHERE job = ? ORDER BY seq DESC LIMIT 1");
  row << id.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<ModelRelease>();
  return std::optional<ModelRelease>({.seq = row.u64(0), .version = ModelVersion(row.u64(1)), .time = row.time(2)});
}

Status SqlRoundStore::touch_job(const JobId& id) {
  Statement update = database_.prepare("UPDATE job SET revision = revision + 1 WHERE id = ?");
  update << id.value();
  return update.run();
}

Result<std::optional<ModelRelease>> SqlRoundStore::released_model(const JobId& id) {
  const std::lock_guard lock(mutex_);
  return read_release(id);
}

Result<ModelRelease> SqlRoundStore::promote_model(const JobId& id, ModelVersion version, WallTime now,
                                                  std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  ModelRelease release;
  const Status done = database_.transaction(os::crash::promote_model, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(const JobRecord job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    COT_TRY(read_model(id, version));
    COT_ASSIGN(const std::optional<ModelRelease> before, read_release(id));
    release = before.value_or(ModelRelease{});
    if (before && before->version == version) return {};
    release = {.seq = release.seq + 1, .version = version, .time = now};
    Statement insert = database_.prepare("INSERT INTO model_release(job, seq, version, time) VALUES(?, ?, ?, ?)");
    insert << id.value() << release.seq << release.version.value() << release.time;
    COT_TRY(insert.run());
    return touch_job(id);
  });
  if (!done) return done.error();
  return release;
}

Result<ModelRelease> SqlRoundStore::roll_back_model(const JobId& id, std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  ModelRelease release;
  const Status done = database_.transaction(os::crash::roll_back_model, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(const JobRecord job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    COT_ASSIGN(const std::optional<ModelRelease> newest, read_release(id));
    if (!newest || newest->seq == 1) {
      return Error(ErrorCode::conflict,
                   "job " + id.value() + " has no version that was promoted before the present one");
    }
    Statement remove = database_.prepare("DELETE FROM model_release WHERE job = ? AND seq = ?");
    remove << id.value() << newest->seq;
    COT_TRY(remove.run());
    COT_ASSIGN(const std::optional<ModelRelease> before, read_release(id));
    if (!before) return Error(ErrorCode::data_loss, "releases of job " + id.value() + " are missing");
    release = *before;
    return touch_job(id);
  });
  if (!done) return done.error();
  return release;
}

}  // namespace coterie

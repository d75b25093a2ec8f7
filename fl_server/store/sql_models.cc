// Versions of a job's model, and which of them applications are told to use.
#include "fl_server/records/cosine_record.h"
#include "fl_server/records/delta_chain.h"
#include "fl_server/records/head_record.h"
#include "fl_server/records/norm_record.h"
#include "fl_server/records/watch_record.h"
#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

#define COT_MODEL_COLUMNS                                                                         \
  "job, version, digest, bytes, optimizer_state, evaluation_loss, evaluation_accuracy, created, " \
  "clip_norm, evaluation_mae, evaluation_r2, exact, deltas, proximal_mu, proximal_falls, watch, " \
  "update_norms, update_cosines, evaluation_heads"

Result<ModelRecord> model_from(Statement& row) {
  ModelRecord model;
  model.job = JobId(row.text(0));
  model.version = ModelVersion(row.u64(1));
  model.digest = row.digest(2);
  model.bytes = row.u64(3);
  if (!row.is_null(4)) model.optimizer_state = row.digest(4);
  if (!row.is_null(5)) model.evaluation_loss = row.real(5);
  if (!row.is_null(6)) model.evaluation_accuracy = row.real(6);
  model.created = row.time(7);
  if (!row.is_null(8)) model.clip_norm = row.real(8);
  if (!row.is_null(9)) model.evaluation_mae = row.real(9);
  if (!row.is_null(10)) model.evaluation_r2 = row.real(10);
  if (!row.is_null(11)) model.exact = row.digest(11);
  if (!row.is_null(12)) {
    COT_ASSIGN(model.deltas, decode_delta_chain(row.blob(12)));
  }
  if (!row.is_null(13)) model.adaptive_mu = {.mu = row.real(13), .falls = row.u64(14)};
  if (!row.is_null(15)) {
    COT_ASSIGN(model.watch, decode_watch(row.blob(15)));
  }
  if (!row.is_null(16)) {
    COT_ASSIGN(model.update_norms, decode_norms(row.blob(16)));
  }
  if (!row.is_null(17)) {
    COT_ASSIGN(model.update_cosines, decode_cosines(row.blob(17)));
  }
  if (!row.is_null(18)) {
    COT_ASSIGN(model.evaluation_heads, decode_heads(row.blob(18)));
  }
  return model;
}

}  // namespace

Status SqlTrainingStore::insert_model(const ModelRecord& model) {
  Statement insert = database_.prepare("INSERT INTO model(" COT_MODEL_COLUMNS
                                       ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert << model.job.value() << model.version.value() << model.digest << model.bytes << model.optimizer_state
         << model.evaluation_loss << model.evaluation_accuracy << model.created << model.clip_norm
         << model.evaluation_mae << model.evaluation_r2 << model.exact;
  if (model.deltas.empty()) insert.null();
  else insert << ByteView(encode_delta_chain(model.deltas));
  insert << (model.adaptive_mu ? std::optional(model.adaptive_mu->mu) : std::nullopt)
         << model.adaptive_mu.value_or(AdaptiveMu{}).falls;
  if (!model.watch) insert.null();
  else insert << ByteView(encode_watch(*model.watch));
  if (!model.update_norms) insert.null();
  else insert << ByteView(encode_norms(*model.update_norms));
  if (!model.update_cosines) insert.null();
  else insert << ByteView(encode_cosines(*model.update_cosines));
  if (model.evaluation_heads.empty()) insert.null();
  else insert << ByteView(encode_heads(model.evaluation_heads));
  return insert.run();
}

Result<std::vector<ModelRecord>> SqlTrainingStore::list_models(const JobId& job, const ModelQuery& query) {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const bool is_gone, is_deleted(job));
  return is_gone ? Result<std::vector<ModelRecord>>(std::vector<ModelRecord>()) : read_models(job, query);
}

Result<std::vector<ModelRecord>> SqlTrainingStore::read_models(const JobId& job, const ModelQuery& query) {
  Statement rows = database_.prepare(query.newest_first ? "SELECT " COT_MODEL_COLUMNS
                                                          " FROM model WHERE job = ?1 AND version > ?2 "
                                                          "ORDER BY version DESC LIMIT ?3"
                                                        : "SELECT " COT_MODEL_COLUMNS
                                                          " FROM model WHERE job = ?1 AND version > ?2 "
                                                          "ORDER BY version LIMIT ?3");
  rows << job.value() << (query.after ? static_cast<int64_t>(query.after->value()) : int64_t{-1})
       << (query.limit ? static_cast<int64_t>(*query.limit) : int64_t{INT64_MAX});
  std::vector<ModelRecord> models;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return models;
    COT_ASSIGN(ModelRecord model, model_from(rows));
    models.push_back(std::move(model));
  }
}

Result<ModelRecord> SqlTrainingStore::get_model(const JobId& job, ModelVersion version) {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const bool is_gone, is_deleted(job));
  if (is_gone) return Error(ErrorCode::not_found, "no such model: job " + job.value() + " is deleted");
  return read_model(job, version);
}

Result<ModelRecord> SqlTrainingStore::read_model(const JobId& job, ModelVersion version) {
  Statement row = database_.prepare("SELECT " COT_MODEL_COLUMNS " FROM model WHERE job = ? AND version = ?");
  row << job.value() << version.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) {
    return Error(ErrorCode::not_found,
                 "no such model: version " + std::to_string(version.value()) + " of job " + job.value());
  }
  return model_from(row);
}

// The model that the job's next round begins with.
Result<ModelRecord> SqlTrainingStore::read_newest_model(const JobId& job) {
  Statement row =
      database_.prepare("SELECT " COT_MODEL_COLUMNS " FROM model WHERE job = ? ORDER BY version DESC LIMIT 1");
  row << job.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return Error(ErrorCode::data_loss, "job " + job.value() + " has no model");
  return model_from(row);
}

// ---- Releases

Result<std::optional<ModelRelease>> SqlTrainingStore::read_release(const JobId& id) {
  Statement row =
      database_.prepare("SELECT seq, version, time FROM model_release WHERE job = ? ORDER BY seq DESC LIMIT 1");
  row << id.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<ModelRelease>();
  return std::optional<ModelRelease>({.seq = row.u64(0), .version = ModelVersion(row.u64(1)), .time = row.time(2)});
}

Result<std::optional<ModelRelease>> SqlTrainingStore::released_model(const JobId& id) {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(const bool is_gone, is_deleted(id));
  return is_gone ? Result<std::optional<ModelRelease>>(std::optional<ModelRelease>()) : read_release(id);
}

Result<std::map<JobId, ModelRelease>> SqlTrainingStore::released_models() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare(
      "SELECT r.job, r.seq, r.version, r.time FROM model_release r JOIN job j ON j.id = r.job "
      "WHERE j.deleted = 0 AND r.seq = (SELECT max(n.seq) FROM model_release n WHERE n.job = r.job)");
  std::map<JobId, ModelRelease> released;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return released;
    released.emplace(JobId(rows.text(0)),
                     ModelRelease{.seq = rows.u64(1), .version = ModelVersion(rows.u64(2)), .time = rows.time(3)});
  }
}

Result<ModelRelease> SqlTrainingStore::release(const JobId& id, ModelVersion version, WallTime now) {
  COT_ASSIGN(const std::optional<ModelRelease> before, read_release(id));
  if (before && before->version == version) return *before;
  const ModelRelease release{.seq = before.value_or(ModelRelease{}).seq + 1, .version = version, .time = now};
  Statement insert = database_.prepare("INSERT INTO model_release(job, seq, version, time) VALUES(?, ?, ?, ?)");
  insert << id.value() << release.seq << release.version.value() << release.time;
  COT_TRY(insert.run());
  COT_TRY(touch_job(id));
  return release;
}

Result<ModelRelease> SqlTrainingStore::promote_model(const JobId& id, ModelVersion version, WallTime now,
                                                     std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  ModelRelease released;
  const Status done = database_.transaction(os::crash::promote_model, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(const JobRecord job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    COT_TRY(read_model(id, version));
    COT_TRY(end_canary_for(job, version, now));
    COT_ASSIGN(released, release(id, version, now));
    return {};
  });
  if (!done) return done.error();
  return released;
}

Result<ModelRelease> SqlTrainingStore::roll_back_model(const JobId& id, std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  ModelRelease release;
  const Status done = database_.transaction(os::crash::roll_back_model, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(const JobRecord job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    COT_TRY(end_canary_for(job, std::nullopt, WallTime()));
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

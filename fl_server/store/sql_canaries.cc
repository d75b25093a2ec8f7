// Canaries: a version that a share of a population's devices has, what was heard of it, and its end.
#include "fl_server/store/sql_training_store.h"

namespace coterie {
namespace {

#define COT_CANARY_COLUMNS                                                                         \
  "id, population, job, version, base_job, base_version, salt, percent, alpha, margin, harm_max, " \
  "devices_max, promote_after, state, reason, heard, created, ended, evaluation_job"

Result<CanaryRecord> canary_from(Statement& row) {
  CanaryRecord canary;
  canary.id = row.text(0);
  canary.population = Population(row.text(1));
  canary.canary = {JobId(row.text(2)), ModelVersion(row.u64(3))};
  canary.base = {JobId(row.text(4)), ModelVersion(row.u64(5))};
  canary.salt = row.digest(6);
  canary.settings = {
      .percent = row.u32(7),
      .trial = {.alpha = row.real(8), .margin = row.real(9), .harm_max = row.real(10), .devices_max = row.u32(11)},
      .promote_after = row.u32(12)};
  canary.state = static_cast<CanaryState>(row.integer(13));
  canary.reason = row.text(14);
  COT_ASSIGN(canary.heard, decode_heard(row.blob(15)));
  canary.created = row.time(16);
  canary.ended = row.time(17);
  canary.evaluation_job = JobId(row.text(18));
  const bool has_state = canary.state >= CanaryState::running && canary.state <= CanaryState::ended;
  if (!has_state || !validate(canary.settings).empty()) {
    return Error(ErrorCode::data_loss, "canary " + canary.id + " is damaged in the database");
  }
  return canary;
}

Result<std::vector<CanaryRecord>> canaries_from(Statement& rows) {
  std::vector<CanaryRecord> canaries;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return canaries;
    COT_ASSIGN(CanaryRecord canary, canary_from(rows));
    canaries.push_back(std::move(canary));
  }
}

Error runs_already(const CanaryRecord& canary, const std::string& wish) {
  return Error(ErrorCode::conflict, wish + ": canary " + canary.id + " of version " +
                                        std::to_string(canary.canary.version.value()) + " of job " +
                                        canary.canary.job.value() + " runs in population " + canary.population.value() +
                                        "; end it first, or promote its version");
}

constexpr const char* kBaseMoved = "other devices have another version than when it began";

}  // namespace

Status SqlTrainingStore::insert_canary(const CanaryRecord& canary) {
  Statement insert = database_.prepare("INSERT INTO canary(" COT_CANARY_COLUMNS
                                       ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const CanarySettings& settings = canary.settings;
  insert << canary.id << canary.population.value() << canary.canary.job.value() << canary.canary.version.value()
         << canary.base.job.value() << canary.base.version.value() << canary.salt << settings.percent
         << settings.trial.alpha << settings.trial.margin << settings.trial.harm_max << settings.trial.devices_max
         << settings.promote_after << static_cast<uint64_t>(canary.state) << canary.reason
         << ByteView(encode_heard(canary.heard)) << canary.created << canary.ended << canary.evaluation_job.value();
  return insert.run();
}

Result<CanaryRecord> SqlTrainingStore::read_canary(const JobId& job, const std::string& id) {
  Statement row = database_.prepare("SELECT " COT_CANARY_COLUMNS " FROM canary WHERE job = ? AND id = ?");
  row << job.value() << id;
  COT_ASSIGN(const bool found, row.step());
  if (!found) return Error(ErrorCode::not_found, "no such canary of job " + job.value());
  return canary_from(row);
}

Result<std::optional<CanaryRecord>> SqlTrainingStore::read_running_canary(const Population& population) {
  Statement row = database_.prepare("SELECT " COT_CANARY_COLUMNS " FROM canary WHERE population = ? AND state = 1");
  row << population.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<CanaryRecord>();
  COT_ASSIGN(CanaryRecord canary, canary_from(row));
  return std::optional(std::move(canary));
}

// What was promoted last of the population's jobs. A table of counts is no model, and not for devices to see: where a
// job's text has this key, quotes and all, it has analytics.
Result<std::optional<GivenModel>> SqlTrainingStore::read_given(const Population& population) {
  Statement row = database_.prepare(
      "SELECT r.job, r.version, m.digest, m.bytes FROM job_population p "
      "JOIN job j ON j.id = p.job AND j.deleted = 0 JOIN model_release r ON r.job = p.job "
      "JOIN model m ON m.job = r.job AND m.version = r.version WHERE p.population = ? AND p.inherited = 0 "
      "AND r.seq = (SELECT max(n.seq) FROM model_release n WHERE n.job = r.job) "
      "AND j.spec NOT LIKE '%\"analytics\":%' ORDER BY r.time DESC, r.job LIMIT 1");
  row << population.value();
  COT_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<GivenModel>();
  return std::optional<GivenModel>({{JobId(row.text(0)), ModelVersion(row.u64(1))}, row.digest(2), row.u64(3)});
}

Status SqlTrainingStore::forget_canary(const std::string& id) {
  Statement sources = database_.prepare("DELETE FROM canary_source WHERE canary = ?");
  sources << id;
  return sources.run();
}

Status SqlTrainingStore::forget_old_canaries(const Population& population) {
  Statement remove = database_.prepare(
      "DELETE FROM canary WHERE population = ?1 AND state <> 1 AND id NOT IN "
      "(SELECT id FROM canary WHERE population = ?1 ORDER BY created DESC, id DESC LIMIT ?2)");
  remove << population.value() << uint64_t{kCanariesKept - 1};
  return remove.run();
}

Status SqlTrainingStore::store_canary(const CanaryRecord& canary) {
  Statement update = database_.prepare("UPDATE canary SET state = ?, reason = ?, heard = ?, ended = ? WHERE id = ?");
  update << static_cast<uint64_t>(canary.state) << canary.reason << ByteView(encode_heard(canary.heard)) << canary.ended
         << canary.id;
  COT_TRY(update.run());
  return canary.state == CanaryState::running ? Status() : forget_canary(canary.id);
}

Result<CanaryRecord> SqlTrainingStore::open_canary(const OpenCanary& request, WallTime now,
                                                   std::optional<uint64_t> revision_expected) {
  const std::lock_guard lock(mutex_);
  const auto& [id, version] = request.canary;
  CanaryRecord canary;
  const Status done = database_.transaction(os::crash::promote_model, [&]() -> Status {
    COT_TRY(lock_job(id));
    COT_ASSIGN(const JobRecord job, read_job(id));
    COT_TRY(check_revision(job, revision_expected));
    COT_TRY(read_model(id, version));
    const std::string& population = job.spec.common.population.value();
    if (job.spec.horizontal().analytics) {
      return Error(ErrorCode::conflict, "job " + id.value() + " counts, and makes no model that devices could use");
    }
    COT_ASSIGN(const auto running, read_running_canary(job.spec.common.population));
    if (running) return runs_already(*running, "no other canary can begin");
    COT_ASSIGN(const std::optional<GivenModel> base, read_given(job.spec.common.population));
    if (!base) {
      return Error(ErrorCode::conflict, "nothing is promoted in population " + population +
                                            " that other devices could keep: promote a version without a canary");
    }
    // Promoted again it would be no release, and stay behind what another job has promoted since.
    COT_ASSIGN(const std::optional<ModelRelease> released, read_release(id));
    if (released && released->version == version) {
      return Error(ErrorCode::conflict, "version " + std::to_string(version.value()) + " is what job " + id.value() +
                                            " has promoted already: a canary needs another version");
    }
    COT_TRY(check_evaluation(request, job.spec.common.population, base->digest));
    canary = {.id = request.id,
              .population = job.spec.common.population,
              .canary = request.canary,
              .base = base->version,
              .salt = request.salt,
              .settings = request.settings,
              .reason = {},
              .heard = {},
              .evaluation_job = request.evaluation_job,
              .created = now,
              .ended = now};
    COT_TRY(forget_old_canaries(canary.population));
    return insert_canary(canary);
  });
  if (!done) return done.error();
  return canary;
}

Status SqlTrainingStore::check_evaluation(const OpenCanary& request, const Population& population, const Digest& base) {
  if (request.evaluation_job.value().empty()) return {};
  const Result<JobRecord> found = read_job(request.evaluation_job);
  // Another population's may be another tenant's: nothing is told of it.
  if (!found || found->spec.common.population != population) {
    if (!found && found.error().code() != ErrorCode::not_found) return found.error();
    return Error(ErrorCode::not_found, "population " + population.value() + " has no job " +
                                           request.evaluation_job.value() + " that the canary could hear");
  }
  const JobRecord& job = *found;
  COT_ASSIGN(const ModelRecord version, read_model(request.canary.job, request.canary.version));
  const auto does_not = [&](const std::string& what) {
    return Error(ErrorCode::conflict, "the canary cannot hear job " + job.id.value() + ": " + what);
  };
  const auto& analytics = job.spec.horizontal().analytics;
  if (!analytics || !analytics->rules.evaluation || !analytics->rules.evaluation->compares()) {
    return does_not("it evaluates no two models; its analytics need kind evaluation and before");
  }
  const EvaluationRules& rules = *analytics->rules.evaluation;
  if (rules.models[0].digest != base || rules.models[1].digest != version.digest) {
    return does_not("it must compare the canary's version (model " + version.digest.hex() +
                    ") with what other devices have (before " + base.hex() + ")");
  }
  // A device that is heard twice bets twice.
  const RoundSettings& rounds = job.spec.horizontal().rounds;
  if (rounds.count > 1 && rounds.separation_min < rounds.count) {
    return does_not("its rounds may ask devices again; leave rounds.separation_min out, or set it to rounds.count");
  }
  // A difference that is rounded and then cut again is another one in the mean.
  if (static_cast<double>(rules.harm_max) > request.settings.trial.harm_max + 1e-6) {
    return does_not("its harm_max is above the canary's: set both the same");
  }
  return {};
}

Result<std::vector<CanaryRecord>> SqlTrainingStore::list_fed_canaries() {
  const std::lock_guard lock(mutex_);
  Statement rows = database_.prepare("SELECT " COT_CANARY_COLUMNS
                                     " FROM canary WHERE state = 1 AND evaluation_job <> '' ORDER BY created, id");
  return canaries_from(rows);
}

// Whether it is new.
Result<bool> SqlTrainingStore::hear_source(const CanaryRecord& canary, const std::string& source) {
  Statement insert =
      database_.prepare("INSERT INTO canary_source(canary, name) VALUES(?, ?) ON CONFLICT(canary, name) DO NOTHING");
  insert << canary.id << source;
  COT_TRY(insert.run());
  return database_.changes() > 0;
}

Status SqlTrainingStore::hear(ObservedCanary& observed, std::span<const CanaryObservation> observations) {
  CanaryRecord& canary = observed.canary;
  CanaryMachine machine(canary.settings, canary.state, canary.heard);
  for (const CanaryObservation& observation : observations) {
    if (machine.state() != CanaryState::running || machine.is_full()) {
      ++observed.late;
      continue;
    }
    COT_ASSIGN(const bool is_new, hear_source(canary, observation.source));
    if (is_new) machine.observe(observation.counts);
    ++(is_new ? observed.counted : observed.repeated);
  }
  machine.check();
  canary.state = machine.state();
  canary.heard = machine.heard();
  return {};
}

Result<ObservedCanary> SqlTrainingStore::observe_canary(const JobId& job, const std::string& id,
                                                        std::span<const CanaryObservation> observations, WallTime now) {
  const std::lock_guard lock(mutex_);
  ObservedCanary observed;
  const Status done = database_.transaction(os::crash::promote_model, [&]() -> Status {
    observed = {};
    // A canary is its job's: whoever changes it locks the job.
    COT_TRY(lock_job(job));
    COT_TRY(read_job(job));
    COT_ASSIGN(observed.canary, read_canary(job, id));
    CanaryRecord& canary = observed.canary;
    if (canary.state != CanaryState::running) {
      observed.late = observations.size();
      return {};
    }
    COT_ASSIGN(const std::optional<GivenModel> base, read_given(canary.population));
    if (!base || base->version != canary.base) {
      observed.late = observations.size();
      canary.state = CanaryState::ended;
      canary.reason = kBaseMoved;
    } else {
      COT_TRY(hear(observed, observations));
    }
    observed.has_ended = canary.state != CanaryState::running;
    if (observed.has_ended) canary.ended = now;
    if (canary.state == CanaryState::promoted) COT_TRY(release(job, canary.canary.version, now));
    return store_canary(canary);
  });
  if (!done) return done.error();
  return observed;
}

Result<CanaryRecord> SqlTrainingStore::end_canary(const JobId& job, const std::string& id, const std::string& reason,
                                                  WallTime now) {
  const std::lock_guard lock(mutex_);
  CanaryRecord canary;
  const Status done = database_.transaction(os::crash::roll_back_model, [&]() -> Status {
    COT_TRY(lock_job(job));
    COT_TRY(read_job(job));
    COT_ASSIGN(canary, read_canary(job, id));
    if (canary.state != CanaryState::running) return {};
    canary.state = CanaryState::ended;
    canary.reason = reason;
    canary.ended = now;
    return store_canary(canary);
  });
  if (!done) return done.error();
  return canary;
}

Status SqlTrainingStore::end_canary_for(const JobRecord& job, std::optional<ModelVersion> promoted, WallTime now) {
  COT_ASSIGN(std::optional<CanaryRecord> canary, read_running_canary(job.spec.common.population));
  if (!canary) return {};
  if (!promoted) return runs_already(*canary, "job " + job.id.value() + " cannot be rolled back");
  if (canary->canary != NamedVersion{job.id, *promoted}) {
    return runs_already(
        *canary, "version " + std::to_string(promoted->value()) + " of job " + job.id.value() + " cannot be promoted");
  }
  canary->state = CanaryState::promoted;
  canary->reason = "promoted by an operator";
  canary->ended = now;
  return store_canary(*canary);
}

Result<CanaryRecord> SqlTrainingStore::get_canary(const JobId& job, const std::string& id) {
  const std::lock_guard lock(mutex_);
  COT_TRY(read_job(job));
  return read_canary(job, id);
}

Result<std::vector<CanaryRecord>> SqlTrainingStore::list_canaries(const JobId& job) {
  const std::lock_guard lock(mutex_);
  COT_TRY(read_job(job));
  Statement rows = database_.prepare("SELECT " COT_CANARY_COLUMNS
                                     " FROM canary WHERE job = ? ORDER BY created DESC, id DESC LIMIT ?");
  rows << job.value() << uint64_t{kCanariesKept};
  return canaries_from(rows);
}

Result<GivenModel> SqlTrainingStore::model_for(const Population& population, const DeviceId& device) {
  const std::lock_guard lock(mutex_);
  COT_ASSIGN(std::optional<GivenModel> given, read_given(population));
  if (!given) {
    return Error(ErrorCode::not_found, "no model is promoted in population " + population.value() + " yet");
  }
  COT_ASSIGN(const std::optional<CanaryRecord> canary, read_running_canary(population));
  const bool has_canary =
      canary && canary->base == given->version && is_in_share(canary->salt, canary->settings.percent, device);
  if (!has_canary) return *std::move(given);
  const Result<ModelRecord> model = read_model(canary->canary.job, canary->canary.version);
  if (!model && model.error().code() == ErrorCode::not_found) return *std::move(given);
  COT_TRY(model);
  return GivenModel{canary->canary, model->digest, model->bytes};
}

}  // namespace coterie

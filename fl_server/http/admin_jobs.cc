// Jobs and rounds on the admin plane.
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/config/job_json.h"
#include "fl_server/config/json_reader.h"
#include "fl_server/http/admin_json.h"
#include "fl_server/http/admin_query.h"
#include "fl_server/http/admin_service.h"
#include "fl_server/http/problem.h"
#include "fl_server/privacy/round_release.h"
#include "proto/codec/codec.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr size_t kRoundsDefault = 100;
constexpr size_t kRoundsMax = 1000;

// Short, lower case, unlikely to collide; the store refuses a collision.
JobId new_job_id() {
  constexpr std::string_view kAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";
  std::string id = "j";
  for (uint8_t byte : random_bytes(7)) id += kAlphabet[byte % kAlphabet.size()];
  return JobId(id);
}

// What can be said of a job's noise only when its model is known. Precondition: validate(job.spec) is empty.
Problems noise_problems(const JobRecord& job) {
  if (!job.spec.privacy.has_noise()) return {};
  if (Problems problems = validate_with_model(job.spec, job.value_count); !problems.empty()) return problems;
  const Result<std::string> refusal = why_no_release(Ledger(), job);
  if (refusal && refusal->empty()) return {};
  return {{"/privacy/epsilon_budget", "not one round fits: " + (refusal ? *refusal : refusal.error().message())}};
}

}  // namespace

// With what it has spent, if it has noise.
Result<nlohmann::json> AdminService::show_job(const JobRecord& job) {
  nlohmann::json json = to_json(job);
  if (job.spec.privacy.has_noise()) {
    COT_ASSIGN(const JobPrivacy privacy, parts_.rounds.job_privacy(job.id));
    json["privacy"] = to_json(privacy, job.spec);
  }
  return json;
}

HttpResponse AdminService::list_jobs(const Call&) {
  const Result<std::vector<JobRecord>> jobs = parts_.rounds.list_jobs();
  if (!jobs) return problem_response(jobs.error());
  nlohmann::json list = nlohmann::json::array();
  for (const JobRecord& job : *jobs) {
    Result<nlohmann::json> shown = show_job(job);
    if (!shown) return problem_response(shown.error());
    list.push_back(std::move(*shown));
  }
  return json_response({{"jobs", list}});
}

HttpResponse AdminService::create_job(const Call& call) {
  Problems problems;
  const auto json = parse_json(as_text(call.body), problems);
  const Error invalid(ErrorCode::invalid_argument, "the job cannot be created as it is described");
  if (!json) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  JobRecord job;
  job.spec = job_spec_from_json(*json, problems);

  // What the spec names must exist; a digest that is malformed has been reported already.
  Result<Bytes> file = Error(ErrorCode::not_found, "");
  if (job.spec.model != Digest{}) {
    file = parts_.blobs.get(job.spec.model, settings_.upload_bytes_max);
    if (!file) problems.push_back({"/model", "no such model: upload it with POST /admin/v1/models first"});
  }
  Result<Bytes> dataset = Error(ErrorCode::not_found, "");
  if (job.spec.evaluation) {
    dataset = parts_.blobs.get(*job.spec.evaluation, settings_.upload_bytes_max);
    if (!dataset) problems.push_back({"/evaluation", "no such data set: upload it with POST /admin/v1/datasets first"});
  }
  if (!problems.empty()) return problem_response(invalid, problems);
  const Result<Decoded<ModelGraph>> model = decode_model(*file);
  if (!model) return problem_response(invalid, {{"/model", "is not a model file: " + model.error().message()}});

  ModelRecord initial;
  if (job.spec.evaluation && parts_.evaluate) {
    const Result<ModelEvaluation> evaluation = parts_.evaluate(*file, *dataset, job.spec.training.loss);
    if (!evaluation) {
      return problem_response(invalid, {{"/evaluation", "the model cannot be judged on it: " + evaluation.error().message()}});
    }
    initial.evaluation_loss = evaluation->loss;
    initial.evaluation_accuracy = evaluation->accuracy;
  }

  const WallTime now = os::wall_now();
  job.id = new_job_id();
  job.created = now;
  job.value_count = model->payload.size() / sizeof(float);
  if (const Problems noise = noise_problems(job); !noise.empty()) return problem_response(invalid, noise);
  const Bytes plan = encode(plan_of(job.spec, job.id, job.value_count));
  const Result<Digest> plan_digest = parts_.blobs.put(plan);
  if (!plan_digest) return problem_response(plan_digest.error());
  job.plan = *plan_digest;
  job.plan_bytes = static_cast<uint32_t>(plan.size());
  initial.job = job.id;
  initial.digest = job.spec.model;
  initial.bytes = file->size();
  initial.created = now;
  if (const Status created = parts_.rounds.create_job(job, initial); !created) return problem_response(created.error());
  log(LogLevel::info, "job_created", {{"job", job.id.value()}, {"name", job.spec.name}});
  parts_.scheduler.job_created(job.id);
  const Result<nlohmann::json> shown = show_job(job);
  HttpResponse response = json_response(shown ? *shown : to_json(job), 201);
  response.headers.emplace_back("Location", "/admin/v1/jobs/" + job.id.value());
  return response;
}

HttpResponse AdminService::get_job(const Call& call) {
  const Result<JobRecord> job = parts_.rounds.get_job(JobId(call.path.at("job")));
  if (!job) return problem_response(job.error());
  const Result<nlohmann::json> shown = show_job(*job);
  return shown ? json_response(*shown) : problem_response(shown.error());
}

HttpResponse AdminService::change_job(const Call& call, JobState to) {
  const Result<JobRecord> job = parts_.rounds.set_job_state(JobId(call.path.at("job")), to, "");
  if (!job) return problem_response(job.error());
  log(LogLevel::info, "job_state_changed", {{"job", job->id.value()}, {"state", to_string(to)}});
  parts_.scheduler.job_state_changed(job->id, job->state);
  const Result<nlohmann::json> shown = show_job(*job);
  return json_response(shown ? *shown : to_json(*job));
}

HttpResponse AdminService::pause_job(const Call& call) { return change_job(call, JobState::paused); }
HttpResponse AdminService::resume_job(const Call& call) { return change_job(call, JobState::running); }
HttpResponse AdminService::cancel_job(const Call& call) { return change_job(call, JobState::cancelled); }

HttpResponse AdminService::list_rounds(const Call& call) {
  const JobId id(call.path.at("job"));
  Problems problems;
  const uint64_t before = query_number(call.query, "before", 0, 0, UINT32_MAX, problems);
  const uint64_t limit = query_number(call.query, "limit", kRoundsDefault, 1, kRoundsMax, problems);
  if (!problems.empty()) return problem_response(Error(ErrorCode::invalid_argument, "the query is wrong"), problems);
  const Result<JobRecord> job = parts_.rounds.get_job(id);
  if (!job) return problem_response(job.error());
  const Result<std::vector<RoundRecord>> rounds = parts_.rounds.list_rounds(id, before, limit);
  if (!rounds) return problem_response(rounds.error());
  const SchedulerStatus status = parts_.scheduler.status();
  nlohmann::json list = nlohmann::json::array();
  for (const RoundRecord& round : *rounds) {
    uint32_t selected = 0;
    uint64_t accepted = 0;
    for (const SchedulerStatus::Job& live : status.jobs) {
      if (!live.round || live.round->key != round.key) continue;
      selected = live.selected;
      accepted = live.accepted;
    }
    const Result<ModelRecord> model = round.state == RoundState::done
                                          ? parts_.rounds.get_model(id, ModelVersion(round.base.value() + 1))
                                          : Result<ModelRecord>(Error(ErrorCode::not_found, ""));
    list.push_back(to_json(round, job->spec.rounds.goal_count, selected, accepted, model ? &*model : nullptr));
  }
  nlohmann::json json = {{"job", id.value()}, {"state", to_string(job->state)}, {"rounds", list}};
  if (job->spec.privacy.has_noise()) {
    const Result<JobPrivacy> privacy = parts_.rounds.job_privacy(id);
    if (!privacy) return problem_response(privacy.error());
    const nlohmann::json shown = to_json(*privacy, job->spec);
    json["privacy"] = {{"epsilon", shown["epsilon"]}, {"epsilon_budget", shown["epsilon_budget"]}};
  }
  if (rounds->size() == limit) json["next_before"] = rounds->back().number;
  return json_response(json);
}

}  // namespace coterie

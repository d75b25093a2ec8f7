// Jobs and rounds on the admin plane.
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_json.h"
#include "fl_server/admin_api/admin_query.h"
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/config/job_json.h"
#include "fl_server/config/json_reader.h"
#include "fl_server/net/entity_tag.h"
#include "fl_server/net/problem.h"
#include "fl_server/privacy/round_release.h"
#include "proto/codec/codec.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr size_t kPopulationCharsMax = 64;
constexpr uint64_t kNoRevision = 0;  // that a job ever has
constexpr int kPreconditionFailed = 412;
constexpr std::array kJobStates = {JobState::running, JobState::paused, JobState::completed, JobState::cancelled,
                                   JobState::failed};
constexpr std::array kRoundStates = {RoundState::selecting,  RoundState::collecting, RoundState::frozen,
                                     RoundState::finalizing, RoundState::done,       RoundState::failed};

CreationCursor cursor_of(const JobRecord& job) { return {job.created, job.id.value()}; }

// "7.2", an attempt of a round.
std::optional<std::pair<uint64_t, Attempt>> parse_attempt(std::string_view text) {
  const size_t dot = std::min(text.find('.'), text.size());
  uint64_t number = 0;
  uint32_t attempt = 0;
  const auto whole = [](std::string_view digits, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
  };
  if (dot == text.size() || !whole(text.substr(0, dot), number) || !whole(text.substr(dot + 1), attempt))
    return std::nullopt;
  if (number > INT64_MAX) return std::nullopt;
  return std::pair(number, Attempt(attempt));
}

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
  COT_ASSIGN(const std::optional<ModelRelease> release, parts_.models.released_model(job.id));
  COT_ASSIGN(const std::string tenant, owner_of(Owned::job, job.id.value()));
  if (tenant != kDefaultTenant) json["tenant"] = tenant;
  if (release) json["released"] = {{"version", release->version.value()}, {"time", rfc3339(release->time)}};
  if (job.spec.privacy.has_noise()) {
    COT_ASSIGN(const JobPrivacy privacy, parts_.ledger.job_privacy(job.id));
    json["privacy"] = to_json(privacy, job.spec);
  }
  return json;
}

HttpResponse AdminService::list_jobs(const Call& call) {
  Problems problems;
  QueryReader reader(call.query, problems);
  const auto state = reader.choice<JobState>("state", kJobStates);
  const std::optional<std::string> population = reader.text("population", kPopulationCharsMax);
  const std::optional<CreationCursor> after = reader.cursor("after");
  const uint64_t limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  Result<std::vector<JobRecord>> jobs = parts_.jobs.list_jobs();
  if (!jobs) return problem_response(jobs.error());
  const Result<TenantView> own = view_of(call, Owned::job);
  if (!own) return problem_response(own.error());
  std::erase_if(*jobs, [&](const JobRecord& job) {
    return !own->sees(job.id.value()) || (state && job.state != *state) ||
           (population && job.spec.population.value() != *population);
  });
  nlohmann::json list = nlohmann::json::array();
  std::optional<CreationCursor> next;
  for (const JobRecord* job : page_of(*jobs, after, limit, cursor_of, next)) {
    Result<nlohmann::json> shown = show_job(*job);
    if (!shown) return problem_response(shown.error());
    list.push_back(std::move(*shown));
  }
  nlohmann::json json = {{"jobs", list}};
  if (next) json["next_after"] = next->text();
  return json_response(json);
}

HttpResponse AdminService::create_job(const Call& call) {
  Problems problems;
  const auto json = parse_json(as_text(call.body), problems);
  const Error invalid(ErrorCode::invalid_argument, "the job cannot be created as it is described");
  if (!json) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  JobRecord job;
  job.spec = job_settings_from_json(*json, problems);
  QueryReader reader(call.query, problems);
  const std::string* const wanted = reader.find("tenant");
  reader.finish();
  const Result<std::string> tenant = tenant_for(call, wanted != nullptr ? *wanted : "", problems, "?tenant");

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
      return problem_response(invalid,
                              {{"/evaluation", "the model cannot be judged on it: " + evaluation.error().message()}});
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
  if (const Status claimed = claim_population(job.spec.population, *tenant); !claimed) {
    return problem_response(invalid, {{"/population", claimed.error().message()}});
  }
  // Before there is a job that others could see.
  if (const auto owner = parts_.admin.claim_for_tenant(Owned::job, job.id.value(), *tenant); !owner)
    return problem_response(owner.error());
  if (const Status created = parts_.jobs.create_job(job, initial); !created) return problem_response(created.error());
  log(LogLevel::info, "job_created", {{"job", job.id.value()}, {"name", job.spec.name}});
  parts_.scheduler.job_created(job.id);
  const Result<nlohmann::json> shown = show_job(job);
  HttpResponse response = json_response(shown ? *shown : to_json(job), 201);
  response.headers.emplace_back("Location", "/admin/v1/jobs/" + job.id.value());
  return response;
}

HttpResponse AdminService::get_job(const Call& call) {
  const Result<JobRecord> job = parts_.jobs.get_job(JobId(call.path.at("job")));
  if (!job) return problem_response(job.error());
  const Result<nlohmann::json> shown = show_job(*job);
  return shown ? with_entity_tag(call.head, json_response(*shown)) : problem_response(shown.error());
}

Result<std::optional<uint64_t>> AdminService::expected_revision(const Call& call, const JobId& id) {
  const std::string_view wanted = call.head.header("if-match");
  if (wanted.empty()) return std::optional<uint64_t>();
  COT_ASSIGN(const JobRecord job, parts_.jobs.get_job(id));
  COT_ASSIGN(const nlohmann::json shown, show_job(job));
  if (if_match(wanted, entity_tag(json_response(shown).body))) return std::optional(job.revision);
  return std::optional(kNoRevision);
}

HttpResponse AdminService::not_changed(const JobId& id, const Error& error, std::optional<uint64_t> expected) {
  if (error.code() != ErrorCode::conflict || !expected) return problem_response(error);
  const Result<JobRecord> job = parts_.jobs.get_job(id);
  if (!job || job->revision == *expected) return problem_response(error);
  return problem_response(
      Error(ErrorCode::conflict, "job " + id.value() +
                                     " has changed since it had the ETag of If-Match; nothing was done. Get it, "
                                     "look, and ask again with its ETag"),
      {}, kPreconditionFailed);
}

HttpResponse AdminService::change_job(const Call& call, JobState to) {
  const JobId id(call.path.at("job"));
  const Result<std::optional<uint64_t>> expected = expected_revision(call, id);
  if (!expected) return problem_response(expected.error());
  const Result<JobRecord> job = parts_.jobs.set_job_state(id, to, "", *expected);
  if (!job) return not_changed(id, job.error(), *expected);
  log(LogLevel::info, "job_state_changed", {{"job", job->id.value()}, {"state", to_string(to)}});
  parts_.scheduler.job_state_changed(job->id, job->state);
  const Result<nlohmann::json> shown = show_job(*job);
  return with_entity_tag(call.head, json_response(shown ? *shown : to_json(*job)));
}

HttpResponse AdminService::pause_job(const Call& call) { return change_job(call, JobState::paused); }
HttpResponse AdminService::resume_job(const Call& call) { return change_job(call, JobState::running); }
HttpResponse AdminService::cancel_job(const Call& call) { return change_job(call, JobState::cancelled); }

HttpResponse AdminService::list_rounds(const Call& call) {
  const JobId id(call.path.at("job"));
  Problems problems;
  RoundQuery query;
  QueryReader reader(call.query, problems);
  if (const std::string* const text = reader.find("before")) {
    query.before = parse_attempt(*text);
    if (!query.before)
      reader.wrong("before", "must be a round's number and attempt, as 7.2: a next_before of an earlier page");
  }
  query.state = reader.choice<RoundState>("state", kRoundStates);
  query.limit = reader.limit();
  reader.finish();
  if (!problems.empty()) return query_problem(problems);
  const Result<JobRecord> job = parts_.jobs.get_job(id);
  if (!job) return problem_response(job.error());
  const Result<std::vector<RoundRecord>> rounds = parts_.rounds.list_rounds(id, query);
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
                                          ? parts_.models.get_model(id, ModelVersion(round.base.value() + 1))
                                          : Result<ModelRecord>(Error(ErrorCode::not_found, ""));
    list.push_back(to_json(round, job->spec.rounds.goal_count, selected, accepted, model ? &*model : nullptr));
  }
  nlohmann::json json = {{"job", id.value()}, {"state", to_string(job->state)}, {"rounds", list}};
  if (job->spec.privacy.has_noise()) {
    const Result<JobPrivacy> privacy = parts_.ledger.job_privacy(id);
    if (!privacy) return problem_response(privacy.error());
    const nlohmann::json shown = to_json(*privacy, job->spec);
    json["privacy"] = {{"epsilon", shown["epsilon"]}, {"epsilon_budget", shown["epsilon_budget"]}};
  }
  if (rounds->size() == query.limit) {
    const RoundRecord& last = rounds->back();
    json["next_before"] = std::to_string(last.number) + "." + std::to_string(last.key.attempt.value());
  }
  return json_response(json);
}

}  // namespace coterie

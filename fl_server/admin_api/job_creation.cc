// A new job on the admin plane: what it names is looked up, its initial model judged, its plan stored, and then it is
// there for everybody.
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/shown_job.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/json/job_json.h"
#include "fl_server/json/json_reader.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/ledger_store.h"
#include "proto/codec/analytics_table.h"
#include "proto/codec/codec.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/model_rules.h"
#include "secure/crypto/random.h"

namespace coterie::admin_handlers {
namespace {

// Short, lower case, unlikely to collide; the store refuses a collision.
JobId new_job_id() {
  constexpr std::string_view kAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";
  std::string id = "j";
  for (uint8_t byte : random_bytes(7)) id += kAlphabet[byte % kAlphabet.size()];
  return JobId(id);
}

// What a job is made from, beside what the operator sent.
struct NewJob {
  JobRecord record;
  ModelRecord initial;  // version 0 of the job's model
};

Error invalid_job() { return {ErrorCode::invalid_argument, "the job cannot be created as it is described"}; }

// The files that a job names.
struct JobFiles {
  Bytes model;
  Bytes dataset;  // empty if it names none
};

// As if it were uploaded now: what is old and has no name goes (fl_server/retention), and the job that names it is not
// there yet.
Result<Bytes> take_upload(AdminContext& context, const Digest& digest) {
  COT_ASSIGN(Bytes file, context.blobs.get(digest, context.settings.upload_bytes_max));
  COT_TRY(context.blobs.put(file));
  return file;
}

// The models that a job's devices evaluate, each under the key that names it. They are those that are compared in the
// rules' order, or one.
void find_evaluated(AdminContext& context, HorizontalSettings& settings, Problems& problems) {
  std::vector<EvaluatedModel>& models = settings.analytics->rules.evaluation->models;
  for (size_t i = 0; i < models.size(); ++i) {
    const char* const pointer = i + 1 == models.size() ? "/analytics/model" : "/analytics/before";
    const Result<Bytes> file = take_upload(context, models[i].digest);
    if (!file) {
      problems.push_back({pointer, "no such model: upload it with POST /admin/v1/models first, or take a version's"});
      continue;
    }
    models[i].bytes = file->size();
    if (!context.check_evaluated) continue;
    const Status fits = context.check_evaluated(*file, rules_of(*settings.analytics));
    if (!fits) problems.push_back({pointer, fits.error().message()});
  }
}

// The model of a job with analytics is a table of zeros, which follows from them.
void put_table(AdminContext& context, HorizontalSettings& settings, JobFiles& files, Problems& problems) {
  files.model = new_table(rules_of(*settings.analytics), blocks_of(settings));
  const Result<Digest> digest = context.blobs.put(files.model);
  if (!digest) {
    problems.push_back({"/analytics", "the table cannot be stored: " + digest.error().message()});
  } else if (settings.model != Digest{} && settings.model != *digest) {
    problems.push_back({"/model", "must be absent with analytics: their table is the model"});
  } else {
    settings.model = *digest;
  }
}

// With a problem for each that is not there. A digest that is malformed has been reported already.
JobFiles find_files(AdminContext& context, HorizontalSettings& settings, Problems& problems) {
  JobFiles files;
  if (settings.analytics) {
    if (problems.empty() && settings.analytics->rules.evaluation) find_evaluated(context, settings, problems);
    if (problems.empty()) put_table(context, settings, files, problems);
    return files;
  }
  if (settings.model != Digest{}) {
    Result<Bytes> model = take_upload(context, settings.model);
    if (model) files.model = std::move(*model);
    else problems.push_back({"/model", "no such model: upload it with POST /admin/v1/models first"});
  }
  if (settings.evaluation) {
    Result<Bytes> dataset = take_upload(context, *settings.evaluation);
    if (dataset) files.dataset = std::move(*dataset);
    else problems.push_back({"/evaluation", "no such data set: upload it with POST /admin/v1/datasets first"});
  }
  return files;
}

// The job's model is judged now, so that a data set that does not fit it is found before any device has trained.
ModelRecord judge_initial_model(AdminContext& context, const HorizontalSettings& settings, const JobFiles& files,
                                Problems& problems) {
  ModelRecord initial;
  initial.digest = settings.model;
  initial.bytes = files.model.size();
  if (!settings.evaluation || !context.evaluate) return initial;
  const Result<ModelEvaluation> evaluation = context.evaluate(files.model, files.dataset, settings.training);
  if (evaluation) {
    initial.evaluation_loss = evaluation->loss;
    initial.evaluation_accuracy = evaluation->accuracy;
    initial.evaluation_mae = evaluation->mae;
    initial.evaluation_r2 = evaluation->r2;
    initial.evaluation_heads = evaluation->heads;
  } else {
    problems.push_back({"/evaluation", "the model cannot be judged on it: " + evaluation.error().message()});
  }
  return initial;
}

// What devices will ask for by its digest: it is there before any of them can hear of the job.
Status store_plan(AdminContext& context, JobRecord& job, const HorizontalSettings& settings) {
  const Bytes plan = encode(plan_of(settings, job.id, job.values()));
  COT_ASSIGN(job.plan, context.blobs.put(plan));
  job.plan_bytes = static_cast<uint32_t>(plan.size());
  return {};
}

// What a job needs that its kind has, made and stored before there is the job. `problems` are those found so far.
// Returns the answer to a job that cannot be created. There is one overload for each kind.
std::optional<HttpResponse> prepare(AdminContext& context, const nlohmann::json& sent, NewJob& job,
                                    HorizontalSettings& settings, Problems& problems) {
  const JobFiles files = find_files(context, settings, problems);
  if (!problems.empty()) return problem_response(invalid_job(), problems);
  const Result<Decoded<ModelGraph>> model = decode_model(files.model);
  if (!model) {
    return problem_response(invalid_job(), {{"/model", "is not a model file: " + model.error().message()}});
  }
  if (context.check_training && !settings.analytics) {
    if (const Status trains = context.check_training(files.model, settings.training); !trains) {
      return problem_response(invalid_job(), {{"/training", "does not fit the model: " + trains.error().message()}});
    }
  }
  job.initial = judge_initial_model(context, settings, files, problems);
  if (!problems.empty()) return problem_response(invalid_job(), problems);
  const auto values = values_of(settings, model->header, model->payload.size() / sizeof(float));
  if (!values) {
    return problem_response(invalid_job(), {{"/training", "does not fit the model: " + values.error().message()}});
  }
  job.record.value_count = values->whole;
  job.record.trained_value_count = values->trained;
  if (const Problems problem = validate_for_model(settings, model->header, *values); !problem.empty()) {
    return problem_response(invalid_job(), problem);
  }
  const bool says_statistics = sent.value("strategy", nlohmann::json::object()).contains("statistics");
  if (!says_statistics && !settings.aggregation.keeps_updates()) {
    settings.strategy.statistics = default_statistics(model->header, settings.training);
  }
  if (const Status stored = store_plan(context, job.record, settings); !stored) return problem_response(stored.error());
  return std::nullopt;
}

// Before a plan is written that nobody would name. What is created meanwhile is counted as the job is stored.
Status check_room(AdminContext& context, const std::string& tenant) {
  COT_ASSIGN(auto use, context.admin.list_use());
  const uint64_t jobs = use[tenant][Quota::jobs], most = context.settings.quotas.jobs_max;
  return jobs < most ? Status() : Status(over_quota(Quota::jobs, tenant, most, jobs + 1));
}

}  // namespace

HttpResponse create_job(AdminContext& context, const AdminCall& call) {
  Problems problems;
  const auto json = parse_json(as_text(call.body), problems);
  if (!json) return problem_response(Error(ErrorCode::malformed, "the body is not JSON"), problems);
  NewJob made;
  JobRecord& job = made.record;
  job.spec = job_settings_from_json(*json, problems);
  QueryReader reader(call.query, problems);
  const std::string* const wanted = reader.find("tenant");
  reader.finish();
  const Result<std::string> tenant = tenant_for(call, wanted != nullptr ? *wanted : "", problems, "?tenant");
  if (const Status room = check_room(context, *tenant); !room) return problem_response(room.error());
  job.id = new_job_id();
  job.created = os::wall_now();
  const std::optional<HttpResponse> refused =
      std::visit([&](auto& settings) { return prepare(context, *json, made, settings, problems); }, job.spec.kind);
  if (refused) return *refused;

  made.initial.job = job.id;
  made.initial.created = job.created;
  const Result<std::string> stop = context.ledger.why_no_job(job, made.initial.digest);
  if (!stop) return problem_response(stop.error());
  if (!stop->empty()) return problem_response(invalid_job(), {{"/population", "not one round fits: " + *stop}});
  if (const Status claimed = claim_population(context, job.spec.common.population, *tenant); !claimed) {
    return problem_response(invalid_job(), {{"/population", claimed.error().message()}});
  }
  // Its owner is known before there is a job that others could hear of.
  context.events.belongs_to(job.id, *tenant);
  const QuotaClaim owner{*tenant, context.settings.quotas.jobs_max};
  if (const Status created = context.jobs.create_job(job, made.initial, owner); !created) {
    context.events.forget(job.id);
    return problem_response(created.error());
  }
  context.events.add(job.id, event::JobCreated{job.spec.common.name});
  // Rounds lead a horizontal job; a job of another kind has another leader to tell.
  std::visit([&](const HorizontalSettings&) { context.scheduler.job_created(job.id); }, job.spec.kind);
  const Result<nlohmann::json> shown = show_job(context, job);
  HttpResponse response = json_response(shown ? *shown : to_json(job), 201);
  response.headers.emplace_back("Location", "/admin/v1/jobs/" + job.id.value());
  return response;
}

}  // namespace coterie::admin_handlers

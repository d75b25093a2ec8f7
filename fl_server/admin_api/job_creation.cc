// A new job on the admin plane: what it names is looked up, its initial model judged, its plan stored, and then it is
// there for everybody.
#include <nlohmann/json.hpp>

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
#include "proto/codec/codec.h"
#include "scheduler/job/model_rules.h"
#include "scheduler/job/round_release.h"
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

// What can be said of a job's noise only when its model is known. Precondition: validate(job.spec) is empty.
Problems noise_problems(const JobRecord& job) {
  if (!job.spec.privacy.has_noise()) return {};
  if (Problems problems = validate_with_model(job.spec, job.value_count); !problems.empty()) return problems;
  const Result<std::string> refusal = why_no_release(Ledger(), job);
  if (refusal && refusal->empty()) return {};
  return {{"/privacy/epsilon_budget", "not one round fits: " + (refusal ? *refusal : refusal.error().message())}};
}

// The files that a job names.
struct JobFiles {
  Bytes model;
  Bytes dataset;  // empty if it names none
};

// With a problem for each that is not there. A digest that is malformed has been reported already.
JobFiles find_files(AdminContext& context, const JobSettings& spec, Problems& problems) {
  JobFiles files;
  if (spec.model != Digest{}) {
    Result<Bytes> model = context.blobs.get(spec.model, context.settings.upload_bytes_max);
    if (model) files.model = std::move(*model);
    else problems.push_back({"/model", "no such model: upload it with POST /admin/v1/models first"});
  }
  if (spec.evaluation) {
    Result<Bytes> dataset = context.blobs.get(*spec.evaluation, context.settings.upload_bytes_max);
    if (dataset) files.dataset = std::move(*dataset);
    else problems.push_back({"/evaluation", "no such data set: upload it with POST /admin/v1/datasets first"});
  }
  return files;
}

// Version 0 of the job's model: judged now, so that a data set that does not fit the model is found before any device
// has trained for the job.
ModelRecord judge_initial_model(AdminContext& context, const JobSettings& spec, const JobFiles& files,
                                Problems& problems) {
  ModelRecord initial;
  initial.digest = spec.model;
  initial.bytes = files.model.size();
  if (!spec.evaluation || !context.evaluate) return initial;
  const Result<ModelEvaluation> evaluation = context.evaluate(files.model, files.dataset, spec.training.loss);
  if (evaluation) {
    initial.evaluation_loss = evaluation->loss;
    initial.evaluation_accuracy = evaluation->accuracy;
  } else {
    problems.push_back({"/evaluation", "the model cannot be judged on it: " + evaluation.error().message()});
  }
  return initial;
}

// What devices will ask for by its digest: it is there before any of them can hear of the job.
Status store_plan(AdminContext& context, JobRecord& job) {
  const Bytes plan = encode(plan_of(job.spec, job.id, job.value_count));
  COT_ASSIGN(job.plan, context.blobs.put(plan));
  job.plan_bytes = static_cast<uint32_t>(plan.size());
  return {};
}

}  // namespace

HttpResponse create_job(AdminContext& context, const AdminCall& call) {
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
  const JobFiles files = find_files(context, job.spec, problems);
  if (!problems.empty()) return problem_response(invalid, problems);
  const Result<Decoded<ModelGraph>> model = decode_model(files.model);
  if (!model) return problem_response(invalid, {{"/model", "is not a model file: " + model.error().message()}});
  ModelRecord initial = judge_initial_model(context, job.spec, files, problems);
  if (!problems.empty()) return problem_response(invalid, problems);

  job.id = new_job_id();
  job.created = os::wall_now();
  job.value_count = model->payload.size() / sizeof(float);
  if (const Problems noise = noise_problems(job); !noise.empty()) return problem_response(invalid, noise);
  if (const Problems graph = validate_with_graph(job.spec, model->header); !graph.empty())
    return problem_response(invalid, graph);
  if (!json->value("strategy", nlohmann::json::object()).contains("statistics"))
    job.spec.strategy.statistics = default_statistics(model->header);
  if (const Status stored = store_plan(context, job); !stored) return problem_response(stored.error());
  initial.job = job.id;
  initial.created = job.created;
  if (const Status claimed = claim_population(context, job.spec.population, *tenant); !claimed) {
    return problem_response(invalid, {{"/population", claimed.error().message()}});
  }
  // Its owner is known before there is a job that others could see.
  if (const auto owner = context.admin.claim_for_tenant(Owned::job, job.id.value(), *tenant); !owner)
    return problem_response(owner.error());
  if (const Status created = context.jobs.create_job(job, initial); !created) return problem_response(created.error());
  context.events.add(job.id, event::JobCreated{job.spec.name});
  context.scheduler.job_created(job.id);
  const Result<nlohmann::json> shown = show_job(context, job);
  HttpResponse response = json_response(shown ? *shown : to_json(job), 201);
  response.headers.emplace_back("Location", "/admin/v1/jobs/" + job.id.value());
  return response;
}

}  // namespace coterie::admin_handlers

// What a person removes: a version of a model, an upload, a job that has ended. Rows go at once; blobs of versions go
// with the next pass of retention, unless other rows name them. The privacy ledger stays as it is, and so does whose
// the job was, as its tenant still sees its records.
#include "base/log.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/shown_job.h"
#include "fl_server/retention/named_blobs.h"
#include "fl_server/retention/retention_plan.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"
#include "fl_server/store/retention_store.h"
#include "fl_server/store/unnamed_blobs.h"

namespace coterie::admin_handlers {
namespace {

constexpr size_t kRowsAStep = 500;

HttpResponse gone() {
  HttpResponse response;
  response.status = 204;
  return response;
}

HttpResponse conflict(const std::string& why) { return problem_response(Error(ErrorCode::conflict, why)); }

Result<bool> remove_upload(AdminContext& context, const Digest& digest) {
  COT_TRY(context.blobs.open(digest));
  // In this order: whoever names it after these rows were read has put it after the time that was asked for first.
  COT_ASSIGN(const WallTime now, context.blobs.now());
  COT_ASSIGN(const std::set<Digest> named, list_named_blobs(context.jobs, context.retention, context.admin));
  if (named.contains(digest)) return Error(ErrorCode::conflict, "a job or a version of a model is made of it");
  return context.blobs.remove_put_before(digest, now - kNamingMax);
}

// A model or a data set: both are blobs, and nobody has noted which one is what.
HttpResponse delete_upload(AdminContext& context, const AdminCall& call) {
  const Result<Digest> digest = Digest::from_hex(call.path.at("digest"));
  if (!digest) return problem_response(Error(ErrorCode::not_found, "no such upload: a digest has 64 digits"));
  const Result<bool> removed = remove_upload(context, *digest);
  if (!removed) return problem_response(removed.error());
  if (!*removed) return conflict("it was uploaded within the last ten minutes: a job may be about to be made of it");
  return gone();
}

}  // namespace

HttpResponse delete_job(AdminContext& context, const AdminCall& call) {
  const JobId id(call.path.at("job"));
  const Result<std::optional<uint64_t>> expected = expected_revision(context, call, id);
  if (!expected) return problem_response(expected.error());
  const Result<JobRecord> job = context.jobs.get_job(id);
  if (!job) return problem_response(job.error());
  const bool is_over = job->state != JobState::running && job->state != JobState::paused;
  if (is_over && context.scheduler.now_of(id, job->spec.common.population))
    return conflict("job " + id.value() + " is being ended; ask again in a moment");
  for (;;) {
    const Result<ForgottenJob> step = context.retention.forget_job(id, *expected, kRowsAStep);
    if (!step) return not_changed(context, id, step.error(), *expected);
    for (const ModelRecord& model : step->models) context.unnamed.add(model);
    if (step->is_gone) break;
  }
  context.unnamed.add(UnnamedBlob{job->plan, job->created});
  log(LogLevel::info, "job_deleted", {{"job", id.value()}, {"by", call.caller.id}});
  return gone();
}

HttpResponse delete_model(AdminContext& context, const AdminCall& call) {
  const Result<ModelVersion> version = model_version_from(call.path.at("version"));
  if (!version) return problem_response(version.error());
  const JobId job(call.path.at("job"));
  if (const Result<ModelRecord> model = context.models.get_model(job, *version); !model)
    return problem_response(model.error());
  const Result<std::vector<ModelRecord>> forgotten = context.retention.forget_models(job, {*version});
  if (!forgotten) return problem_response(forgotten.error());
  if (forgotten->empty())
    return conflict("this version stays: it is the first, the newest, promoted, or a round trains from it");
  for (const ModelRecord& model : *forgotten) context.unnamed.add(model);
  return gone();
}

HttpResponse delete_model_upload(AdminContext& context, const AdminCall& call) { return delete_upload(context, call); }

HttpResponse delete_dataset(AdminContext& context, const AdminCall& call) { return delete_upload(context, call); }

}  // namespace coterie::admin_handlers

// What a person removes: a version of a model, an upload, a job that has ended. It is gone for whoever asks from then
// on; the rows of a job, and blobs that no other row names, go with the next passes of retention. The privacy ledger
// stays as it is, and so does whose the job was, as its tenant still sees its records.
#include <algorithm>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/shown_job.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/retention/named_blobs.h"
#include "fl_server/retention/retention_plan.h"
#include "fl_server/runtime/round_scheduler.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"
#include "fl_server/store/retention_store.h"
#include "fl_server/store/unnamed_blobs.h"

namespace coterie::admin_handlers {
namespace {

HttpResponse gone() {
  HttpResponse response;
  response.status = 204;
  return response;
}

HttpResponse conflict(const std::string& why) { return problem_response(Error(ErrorCode::conflict, why)); }

bool evaluates(const HorizontalSettings& settings, const Digest& digest) {
  if (!settings.analytics || !settings.analytics->rules.evaluation) return false;
  return std::ranges::count(settings.analytics->rules.evaluation->models, digest, &EvaluatedModel::digest) > 0;
}

// Whether a job that the caller sees is made of it.
Result<bool> is_in_use(AdminContext& context, const AdminCall& call, const Digest& digest) {
  COT_ASSIGN(const TenantView own, view_of(context, call, Owned::job));
  COT_ASSIGN(const std::vector<JobRecord> jobs, context.jobs.list_jobs());
  return std::ranges::any_of(jobs, [&](const JobRecord& job) {
    const HorizontalSettings& settings = job.spec.horizontal();
    return own.sees(job.id.value()) &&
           (settings.model == digest || settings.evaluation == digest || evaluates(settings, digest));
  });
}

// What a tenant removes is its own upload of these bytes. Where others have sent the same, or rows of theirs name the
// file, it stays, and the tenant has it no more.
Result<bool> remove_upload(AdminContext& context, const AdminCall& call, const Digest& digest) {
  const std::string& tenant = call.caller.tenant;
  const bool is_of_all = tenant == kEveryTenant;
  COT_ASSIGN(const std::vector<std::string> uploaders, context.admin.list_uploaders(digest));
  if (!is_of_all && std::ranges::count(uploaders, tenant) == 0) return Error(ErrorCode::not_found, "no such upload");
  COT_TRY(context.blobs.open(digest));
  // In this order: whoever names it after these rows were read has put it after the time that was asked for first.
  COT_ASSIGN(const WallTime now, context.blobs.now());
  const WallTime noted_before = os::wall_now() - kNamingMax;
  COT_ASSIGN(const bool is_of_a_row, is_named(digest, context.jobs, context.retention, context.admin));
  COT_ASSIGN(const bool in_use, is_in_use(context, call, digest));
  if (in_use || (is_of_all && is_of_a_row))
    return Error(ErrorCode::conflict, "a job or a version of a model is made of it");
  if (is_of_a_row || (!is_of_all && uploaders.size() > 1)) {
    COT_ASSIGN(const uint64_t forgotten, context.admin.forget_upload(digest, noted_before, tenant));
    return forgotten > 0;
  }
  COT_ASSIGN(const bool is_gone, context.blobs.remove_put_before(digest, now - kNamingMax));
  if (is_gone) COT_TRY(context.admin.forget_upload(digest, noted_before));
  return is_gone;
}

// A model or a data set: both are blobs, and nobody has noted which one is what.
HttpResponse delete_upload(AdminContext& context, const AdminCall& call) {
  const Result<Digest> digest = Digest::from_hex(call.path.at("digest"));
  if (!digest) return problem_response(Error(ErrorCode::not_found, "no such upload: a digest has 64 digits"));
  const Result<bool> removed = remove_upload(context, call, *digest);
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
  // Its rows may be many, and go by and by with the next pass of retention, wherever this process ends.
  const Status deleted = context.retention.delete_job(id, *expected);
  if (!deleted) return not_changed(context, id, deleted.error(), *expected);
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

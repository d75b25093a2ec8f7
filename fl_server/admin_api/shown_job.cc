#include "fl_server/admin_api/shown_job.h"

#include <nlohmann/json.hpp>
#include <variant>

#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/record_json.h"
#include "fl_server/admin_api/tenants.h"
#include "fl_server/json/readable_float.h"
#include "fl_server/json/rfc3339.h"
#include "fl_server/net/entity_tag.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/ledger_store.h"
#include "fl_server/store/model_store.h"
#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/adaptive_mu_rules.h"

namespace coterie {
namespace {

constexpr uint64_t kNoRevision = 0;  // that a job ever has
constexpr int kPreconditionFailed = 412;

}  // namespace

Result<nlohmann::json> show_job(AdminContext& context, const JobRecord& job) {
  nlohmann::json json = to_json(job);
  COT_ASSIGN(const std::optional<ModelRelease> release, context.models.released_model(job.id));
  COT_ASSIGN(const std::string tenant, owner_of(context, Owned::job, job.id.value()));
  if (tenant != kDefaultTenant) json["tenant"] = tenant;
  if (release) json["released"] = {{"version", release->version.value()}, {"time", rfc3339(release->time)}};
  COT_ASSIGN(const std::optional<nlohmann::json> privacy, show_privacy(context, job));
  if (privacy) json["privacy"] = *privacy;
  const auto* const settings = std::get_if<HorizontalSettings>(&job.spec.kind);
  if (settings && settings->privacy.adaptive_clip) {
    const Result<ModelRecord> newest = context.models.get_model(job.id, ModelVersion(job.rounds_done));
    if (newest) json["clip_norm"] = clip_norm_of(*settings, newest->clip_norm.value_or(0));
  }
  if (settings && settings->adaptive_mu) {
    const Result<ModelRecord> newest = context.models.get_model(job.id, ModelVersion(job.rounds_done));
    if (newest) {
      std::optional<double> row;
      if (newest->adaptive_mu) row = newest->adaptive_mu->mu;
      json["proximal_mu"] = readable(proximal_mu_of(*settings, row));
    }
  }
  return json;
}

Result<std::optional<nlohmann::json>> show_privacy(AdminContext& context, const JobRecord& job) {
  if (!has_noise(job.spec)) return std::optional<nlohmann::json>();
  COT_ASSIGN(JobPrivacy privacy, context.ledger.job_privacy(job.id));
  // Its model may come from another tenant's.
  COT_ASSIGN(const std::string tenant, owner_of(context, Owned::job, job.id.value()));
  std::vector<PopulationPrivacy> shown;
  for (PopulationPrivacy& population : privacy.populations) {
    COT_ASSIGN(const std::string owner, owner_of(context, Owned::population, population.population.value()));
    if (owner == tenant) shown.push_back(std::move(population));
  }
  privacy.populations = std::move(shown);
  return std::visit([&](const auto& kind) { return std::optional(to_json(privacy, kind)); }, job.spec.kind);
}

Result<std::optional<uint64_t>> expected_revision(AdminContext& context, const AdminCall& call, const JobId& id) {
  const std::string_view wanted = call.head.header("if-match");
  if (wanted.empty()) return std::optional<uint64_t>();
  COT_ASSIGN(const JobRecord job, context.jobs.get_job(id));
  COT_ASSIGN(const nlohmann::json shown, show_job(context, job));
  if (if_match(wanted, entity_tag(json_response(shown).body))) return std::optional(job.revision);
  return std::optional(kNoRevision);
}

HttpResponse not_changed(AdminContext& context, const JobId& id, const Error& error, std::optional<uint64_t> expected) {
  if (error.code() != ErrorCode::conflict || !expected) return problem_response(error);
  const Result<JobRecord> job = context.jobs.get_job(id);
  if (!job || job->revision == *expected) return problem_response(error);
  return problem_response(
      Error(ErrorCode::conflict, "job " + id.value() +
                                     " has changed since it had the ETag of If-Match; nothing was done. Get it, "
                                     "look, and ask again with its ETag"),
      {}, kPreconditionFailed);
}

}  // namespace coterie

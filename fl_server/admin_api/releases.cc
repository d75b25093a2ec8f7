// Which version of a job's model applications should use: promoted by a person, and rolled back.
#include <nlohmann/json.hpp>

#include "base/os/clock.h"
#include "fl_server/admin_api/admin_call.h"
#include "fl_server/admin_api/admin_context.h"
#include "fl_server/admin_api/handlers.h"
#include "fl_server/admin_api/problem.h"
#include "fl_server/admin_api/query_reader.h"
#include "fl_server/admin_api/shown_job.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/store/canary_store.h"
#include "fl_server/store/model_store.h"

namespace coterie::admin_handlers {

namespace {

// The canary that a promotion of this version ends.
std::optional<CanaryRecord> running_canary(AdminContext& context, const NamedVersion& version) {
  const Result<std::vector<CanaryRecord>> canaries = context.canaries.list_canaries(version.job);
  if (!canaries) return std::nullopt;
  for (const CanaryRecord& canary : *canaries) {
    if (canary.state == CanaryState::running && canary.canary == version) return canary;
  }
  return std::nullopt;
}

// Promotes `version`; without one, rolls back.
HttpResponse release_model(AdminContext& context, const AdminCall& call, std::optional<ModelVersion> version) {
  const JobId id(call.path.at("job"));
  const std::optional<CanaryRecord> canary = version ? running_canary(context, {id, *version}) : std::nullopt;
  const Result<std::optional<uint64_t>> expected = expected_revision(context, call, id);
  if (!expected) return problem_response(expected.error());
  const Result<ModelRelease> release = version ? context.models.promote_model(id, *version, os::wall_now(), *expected)
                                               : context.models.roll_back_model(id, *expected);
  if (!release) return not_changed(context, id, release.error(), *expected);
  context.events.add(id, event::ModelReleased{release->version, !version.has_value()});
  if (canary) {
    context.events.add(id, event::CanaryChanged{canary->id, *version, CanaryState::promoted, canary->heard.heard});
  }
  return get_job(context, call);
}

}  // namespace

HttpResponse promote_model(AdminContext& context, const AdminCall& call) {
  const Result<ModelVersion> version = model_version_from(call.path.at("version"));
  return version ? release_model(context, call, *version) : problem_response(version.error());
}

HttpResponse roll_back_model(AdminContext& context, const AdminCall& call) {
  return release_model(context, call, std::nullopt);
}

}  // namespace coterie::admin_handlers

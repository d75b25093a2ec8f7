// Which version of a job's model applications should use: promoted by a person, and rolled back.
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/admin_api/admin_query.h"
#include "fl_server/admin_api/admin_service.h"
#include "fl_server/net/problem.h"

namespace coterie {

HttpResponse AdminService::release_model(const Call& call, std::optional<ModelVersion> version) {
  const JobId id(call.path.at("job"));
  const Result<std::optional<uint64_t>> expected = expected_revision(call, id);
  if (!expected) return problem_response(expected.error());
  const Result<ModelRelease> release = version ? parts_.models.promote_model(id, *version, os::wall_now(), *expected)
                                               : parts_.models.roll_back_model(id, *expected);
  if (!release) return not_changed(id, release.error(), *expected);
  log(LogLevel::info, "model_released",
      {{"job", id.value()}, {"model_version", release->version.value()}, {"rolled_back", !version.has_value()}});
  return get_job(call);
}

HttpResponse AdminService::promote_model(const Call& call) {
  const Result<ModelVersion> version = model_version_from(call.path.at("version"));
  return version ? release_model(call, *version) : problem_response(version.error());
}

HttpResponse AdminService::roll_back_model(const Call& call) { return release_model(call, std::nullopt); }

}  // namespace coterie

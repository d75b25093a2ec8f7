#include "fl_server/serving/model_server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"
#include "fl_server/serving/servable_model.h"

namespace coterie {
namespace {

SessionLimits session_limits(const ModelServerSettings& settings) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return {.workers = settings.workers == 0 ? cores : settings.workers,
          .batch_sizes = batch_sizes_up_to(settings.batch_max),
          .memory_bytes_max = settings.version_bytes_max};
}

}  // namespace

ModelServer::ModelServer(ModelServerSettings settings, const Metrics& http_metrics)
    : sessions_(session_limits(settings)),
      bytes_max_(settings.bytes_max),
      models_(settings.versions_kept),
      workers_(sessions_.workers, {sessions_.batch_sizes, settings.waiting_max}, metrics_),
      router_(settings.service.router, models_, workers_, metrics_),
      service_(std::move(settings.service), models_, router_, metrics_, http_metrics) {}

uint64_t ModelServer::room_beside(uint64_t file_bytes) const {
  const uint64_t held = models_.bytes() + file_bytes;
  return held < bytes_max_ ? bytes_max_ - held : 0;
}

// One step of it; false: there is nothing that may go.
bool ModelServer::make_room(bool promotes) {
  if (models_.drop_spares() > 0) return true;
  if (!promotes) return false;
  const auto gone = models_.drop_unpromoted();
  if (!gone) return false;
  if (!models_.list(gone->first)) metrics_.model_removed(gone->first);
  log(LogLevel::warning, "model_version_made_room", {{"model", gone->first}, {"version", gone->second}});
  return true;
}

Result<std::shared_ptr<ServedVersion>> ModelServer::prepare(Bytes file, uint64_t number, bool promotes,
                                                            const std::shared_ptr<const ServingSteps>& steps) {
  COT_ASSIGN(const ServableModel opened, open_servable(std::move(file)));
  // Before anything goes for it.
  if (steps) COT_TRY(ServedVersion::check(opened, *steps));
  COT_ASSIGN(auto version, compile(opened, number, promotes));
  if (steps) COT_TRY(version->put_on(steps));
  return version;
}

Result<std::shared_ptr<ServedVersion>> ModelServer::compile(const ServableModel& opened, uint64_t number,
                                                            bool promotes) {
  for (;;) {
    const uint64_t left = room_beside(opened.file_bytes);
    SessionLimits sessions = sessions_;
    sessions.memory_bytes_max = std::min(sessions_.memory_bytes_max, left);
    auto version = ServedVersion::compile(opened, number, sessions);
    const bool is_refused = !version && version.error().code() == ErrorCode::too_large;
    const bool is_short =
        left < sessions_.memory_bytes_max && (is_refused || (version && (*version)->lacks_batch_sizes()));
    // Others go for a version that would not answer at all, not for one whose batches would be larger.
    if (is_short && make_room(promotes && is_refused)) continue;
    if (!is_short || !is_refused) return version;
    return version.error().with_context("of serving.bytes_max, " + std::to_string(bytes_max_) +
                                        " bytes for all models and their files, " + std::to_string(left) + " are left");
  }
}

Status ModelServer::publish(const std::string& model, std::shared_ptr<ServedVersion> version, Standing standing,
                            std::string_view tenant) {
  const std::string name = version->name(), digest = version->digest_text();
  COT_TRY(models_.publish(model, std::move(version), standing, tenant));
  metrics_.version_published(model, name, digest);
  tell_loaded();
  log(LogLevel::info, "model_served", {{"model", model}, {"version", name}, {"digest", digest}});
  return {};
}

Status ModelServer::publish(const std::string& model, Bytes file, uint64_t number, Standing standing,
                            std::string_view tenant, const std::shared_ptr<const ServingSteps>& steps) {
  COT_ASSIGN(auto version, prepare(std::move(file), number, standing == Standing::promoted, steps));
  return publish(model, std::move(version), standing, tenant);
}

void ModelServer::tell_loaded() {
  const LoadedModels loaded = models_.loaded();
  size_t versions = 0;
  for (const auto& [name, model] : loaded) versions += model.versions.size();
  metrics_.set_loaded(loaded.size(), versions, models_.bytes());
}

}  // namespace coterie

#include "fl_server/serving/model_server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"

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
      service_(std::move(settings.service), models_, workers_, metrics_, http_metrics) {}

Status ModelServer::publish(const std::string& model, Bytes file, uint64_t number, bool promotes,
                            std::string_view tenant) {
  const auto room = [&] {
    const uint64_t held = models_.bytes() + file.size();
    return held < bytes_max_ ? bytes_max_ - held : 0;
  };
  uint64_t left = room();
  if (left < sessions_.memory_bytes_max && models_.drop_spares() > 0) left = room();
  SessionLimits sessions = sessions_;
  sessions.memory_bytes_max = std::min(sessions_.memory_bytes_max, left);
  auto version = ServedVersion::load(std::move(file), number, sessions);
  if (!version && version.error().code() == ErrorCode::too_large && left < sessions_.memory_bytes_max) {
    return version.error().with_context("of " + std::to_string(bytes_max_) + " bytes for all models " +
                                        std::to_string(left) + " are left");
  }
  if (!version) return version.error();
  const std::string name = (*version)->name(), digest = (*version)->digest_text();
  COT_TRY(models_.publish(model, *std::move(version), promotes, tenant));
  metrics_.version_published(model, name, digest);
  tell_loaded();
  log(LogLevel::info, "model_served", {{"model", model}, {"version", name}, {"digest", digest}});
  return {};
}

void ModelServer::tell_loaded() {
  const LoadedModels loaded = models_.loaded();
  size_t versions = 0;
  for (const auto& [name, model] : loaded) versions += model.versions.size();
  metrics_.set_loaded(loaded.size(), versions, models_.bytes());
}

}  // namespace coterie

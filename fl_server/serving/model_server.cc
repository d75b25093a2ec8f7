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
      models_(settings.versions_kept),
      workers_(sessions_.workers, {sessions_.batch_sizes, settings.waiting_max}, metrics_),
      service_(std::move(settings.service), models_, workers_, metrics_, http_metrics) {}

Status ModelServer::publish(const std::string& model, Bytes file, uint64_t number, bool promotes) {
  COT_ASSIGN(auto version, ServedVersion::load(std::move(file), number, sessions_));
  const std::string name = version->name(), digest = version->digest_text();
  COT_TRY(models_.publish(model, std::move(version), promotes));
  metrics_.version_published(model, name, digest);
  log(LogLevel::info, "model_served", {{"model", model}, {"version", name}, {"digest", digest}});
  return {};
}

}  // namespace coterie

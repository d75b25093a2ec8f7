// ModelServer: workers, versions and a listener, put together: what serves models, in a process of its own or in a
// server's.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fl_server/serving/inference_router.h"
#include "fl_server/serving/served_models.h"
#include "fl_server/serving/serving_service.h"

namespace coterie {

struct ModelServerSettings {
  size_t workers = 0;                       // 0: one a core
  uint32_t batch_max = 32;                  // examples that a worker computes at a time
  uint64_t waiting_max = 4096;              // examples that wait for a worker
  size_t versions_kept = 2;                 // of a model, beside the promoted one
  uint64_t version_bytes_max = 1ull << 30;  // what one version is compiled into
  uint64_t bytes_max = UINT64_MAX;          // of all versions that answer, with their files
  ServingServiceSettings service;
};

class ModelServer {
 public:
  // `http_metrics` outlives it.
  ModelServer(ModelServerSettings settings, const Metrics& http_metrics);

  // Compiles a model file, so that it can answer as this version, with the steps around it, if there are any. Where
  // room ends, versions go that are neither the latest nor promoted. For one that `promotes`, all others that are not
  // promoted go, too, one by one until there is room: applications come first. Slow for large models, and takes no
  // lock meanwhile: any thread, one at a time.
  // Errors: ServedVersion::load; invalid_argument (the steps do not join up with the model); too_large (no room).
  Result<std::shared_ptr<ServedVersion>> prepare(Bytes file, uint64_t number, bool promotes,
                                                 const std::shared_ptr<const ServingSteps>& steps = nullptr);
  // Has it answer. Fast. Errors: ServedModels::publish.
  Status publish(const std::string& model, std::shared_ptr<ServedVersion> version, Standing standing,
                 std::string_view tenant);
  // Both.
  Status publish(const std::string& model, Bytes file, uint64_t number, Standing standing = Standing::latest,
                 std::string_view tenant = kDefaultTenant, const std::shared_ptr<const ServingSteps>& steps = nullptr);
  // What /v2/health/ready says, if a model answers at all; true, until it is told otherwise. Thread-safe.
  void set_ready(bool is_ready) { service_.set_ready(is_ready); }
  bool is_ready() const { return service_.is_ready(); }
  // After models were published, removed or withdrawn: what the metrics say of them.
  void tell_loaded();
  ServedModels& models() { return models_; }
  ServingMetrics& metrics() { return metrics_; }
  InferenceRouter& router() { return router_; }
  HttpService& service() { return service_; }
  const ServingMetrics& metrics() const { return metrics_; }
  // Ends what waits. Before the listener's threads stop, so that they hear of it.
  void stop() { workers_.stop(); }

 private:
  uint64_t room_beside(uint64_t file_bytes) const;
  bool make_room(bool promotes);
  Result<std::shared_ptr<ServedVersion>> compile(const ServableModel& opened, uint64_t number, bool promotes);

  const SessionLimits sessions_;
  const uint64_t bytes_max_;
  ServingMetrics metrics_;
  ServedModels models_;
  InferenceWorkers workers_;
  InferenceRouter router_;
  ServingService service_;
};

}  // namespace coterie

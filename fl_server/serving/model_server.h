// ModelServer: workers, versions and a listener, put together: what serves models, in a process of its own or in a
// server's.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fl_server/serving/inference_workers.h"
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

  // Loads a model file and has it answer as this version; then what is asked without a version is answered by it,
  // unless another is promoted. Where room ends, versions that are neither the latest nor promoted go first. Slow for
  // large models. Errors: ServedVersion::load, ServedModels::publish; too_large (no room is left). One thread's.
  Status publish(const std::string& model, Bytes file, uint64_t number, bool promotes = false,
                 std::string_view tenant = kDefaultTenant);
  // After models were published, removed or withdrawn: what the metrics say of them.
  void tell_loaded();
  ServedModels& models() { return models_; }
  ServingMetrics& metrics() { return metrics_; }
  HttpService& service() { return service_; }
  const ServingMetrics& metrics() const { return metrics_; }
  // Ends what waits. Before the listener's threads stop, so that they hear of it.
  void stop() { workers_.stop(); }

 private:
  const SessionLimits sessions_;
  const uint64_t bytes_max_;
  ServingMetrics metrics_;
  ServedModels models_;
  InferenceWorkers workers_;
  ServingService service_;
};

}  // namespace coterie

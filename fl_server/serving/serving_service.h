// ServingService: models as the Open Inference Protocol v2 over REST. Every error is {"error": "..."}.
//
//   GET  /v2, /v2/health/live, /v2/health/ready                    open to all
//   GET  /v2/models/{model}[/versions/{version}][/ready]
//   POST /v2/models/{model}[/versions/{version}]/infer
//   GET  /metrics                                                  Prometheus text
//
// The connection's thread reads and writes the protocol, and computes what is quick (at_once.h); else the workers do.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "fl_server/net/exchange.h"
#include "fl_server/serving/caller_check.h"
#include "fl_server/serving/inference_router.h"
#include "fl_server/serving/served_models.h"
#include "fl_server/telemetry/metrics.h"

namespace coterie {

struct ServingServiceSettings {
  std::string version;                    // of the program
  uint64_t body_bytes_max = 16ull << 20;  // of a request
  InferLimits limits;
  InferenceRouterSettings router;
  // Who may ask: whoever has the bearer token of this token_digest, all models; without one, whoever reaches the port.
  std::optional<Digest> token;
  // Not null: this decides instead, and outlives the service.
  ModelAccess* access = nullptr;
  // What /metrics says, of what this process says of itself; null: that.
  std::function<std::string(std::string own)> metrics_of_all;
};

class ServingService final : public HttpService {
 public:
  // What is referred to outlives the service.
  ServingService(ServingServiceSettings settings, ServedModels& models, InferenceRouter& router,
                 ServingMetrics& metrics, const Metrics& http_metrics)
      : settings_(std::move(settings)),
        caller_check_(settings_.token, settings_.access),
        models_(models),
        router_(router),
        metrics_(metrics),
        http_metrics_(http_metrics) {}

  Awaitable<RoutedResponse> handle(Exchange& exchange) override;
  HttpResponse refuse(const Error& error, int status) override;
  // While false, /v2/health/ready answers 503 though there are models: more are being loaded.
  void set_ready(bool is_ready) { is_ready_ = is_ready; }
  // What /v2/health/ready says.
  bool is_ready() const { return is_ready_ && !models_.empty(); }

 private:
  struct Target;
  // The tenant whose models the sender may ask.
  Awaitable<Result<std::string>> authenticate(Exchange& exchange);
  HttpResponse look(std::string_view pattern, const Target& target) const;
  Result<std::string> describe(const Target& target) const;
  Awaitable<HttpResponse> infer(Exchange& exchange, const Target& target);
  HttpResponse failed(const Error& error, int status = 0);  // 0: that of the error

  const ServingServiceSettings settings_;
  const CallerCheck caller_check_;
  ServedModels& models_;
  InferenceRouter& router_;
  ServingMetrics& metrics_;
  const Metrics& http_metrics_;
  std::atomic<bool> is_ready_{true};
};

}  // namespace coterie

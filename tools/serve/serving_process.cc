#include "tools/serve/serving_process.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string_view>
#include <thread>

#include "base/os/clock.h"
#include "fl_server/app/memory_return.h"
#include "fl_server/net/http_server.h"
#include "fl_server/serving/grpc/grpc_door.h"
#include "fl_server/serving/model_server.h"
#include "fl_server/serving/steps_file.h"
#include "fl_server/telemetry/metrics.h"
#include "tools/cli/report.h"
#include "tools/serve/served_source.h"
#include "tools/serve/thread_looks.h"

namespace coterie {
namespace {

constexpr std::string_view kModelBegins = "COTF";
constexpr Millis kMemoryLookEvery{500};  // bursts of a second are seen, too

// Processes that share a machine share its cores.
size_t cores_of_one(const ServeOptions& options) {
  return std::max(1u, std::thread::hardware_concurrency() / std::max(1u, options.processes));
}

ModelServerSettings settings_of(const ServeOptions& options, const ServingKeys& keys) {
  ModelServerSettings settings{.workers = options.workers == 0 ? cores_of_one(options) : options.workers,
                               .batch_max = options.batch_max,
                               .waiting_max = options.waiting_max};
  settings.service.version = COTERIE_VERSION;
  settings.service.body_bytes_max = static_cast<uint64_t>(options.body_mib_max) << 20;
  settings.service.router.wait_max = Millis(options.wait_ms_max);
  settings.service.router.canary_percent = options.canary_percent;
  settings.service.router.has_shadow = options.has_shadow;
  if (!options.is_insecure) settings.service.token = keys.token;
  return settings;
}

ModelServerSettings with_metrics(ModelServerSettings settings, std::function<std::string(std::string)> metrics_of_all) {
  settings.service.metrics_of_all = std::move(metrics_of_all);
  return settings;
}

std::string host_of(const ServeOptions& options) {
  return options.address.find(':') == std::string::npos ? options.address : "[" + options.address + "]";
}

}  // namespace

void tell(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

struct ServingProcess::Parts {
  explicit Parts(ModelServerSettings settings) : server(std::move(settings), metrics) {}

  std::shared_ptr<const ServingSteps> steps;
  Metrics metrics{COTERIE_VERSION};
  ModelServer server;
  std::optional<ThreadLooks> looks;
  std::unique_ptr<HttpServer> http;
  std::atomic<bool> is_open{false};
  std::unique_ptr<GrpcDoor> grpc;
  std::unique_ptr<MemoryReturn> memory;
};

ServingProcess::ServingProcess(const ServeOptions& options, const ServingKeys& keys,
                               std::function<std::string(std::string)> metrics_of_all)
    : options_(options),
      keys_(keys),
      name_(served_name(options)),
      parts_(std::make_unique<Parts>(with_metrics(settings_of(options, keys), std::move(metrics_of_all)))) {}

ServingProcess::~ServingProcess() = default;

std::string ServingProcess::metrics() const {
  return parts_->metrics.exposition() + std::as_const(parts_->server).metrics().exposition();
}

Result<std::unique_ptr<ServingProcess>> ServingProcess::make(const ServeOptions& options, const ServingKeys& keys,
                                                             std::function<std::string(std::string)> metrics_of_all) {
  std::unique_ptr<ServingProcess> process(new ServingProcess(options, keys, std::move(metrics_of_all)));
  if (!options.steps.empty()) {
    COT_ASSIGN(process->parts_->steps, read_steps_file(options.steps));
  }
  return process;
}

Result<ServingProcess::Followed> ServingProcess::follow(ModelSource& source) {
  COT_ASSIGN(std::optional<SourcedVersion> next, source.next());
  Followed followed;
  if (next && !as_text(next->file).starts_with(kModelBegins)) {
    return Error(ErrorCode::malformed, name_ +
                                           ": what came is no model file; `coterie model convert` makes one of ONNX, "
                                           "TFLite and MindSpore Lite files");
  }
  if (next) {
    const Standing standing = source.promoted() == next->number ? Standing::promoted
                              : source.promoted()               ? Standing::candidate
                                                                : Standing::latest;
    const Status published =
        parts_->server.publish(name_, std::move(next->file), next->number, standing, kDefaultTenant, parts_->steps);
    if (!published) return published.error().with_context(name_ + ", version " + std::to_string(next->number));
    followed.version = next->number;
  }
  const Result<ServedModels::Listing> listing = parts_->server.models().list(name_);
  // A version that is not here yet comes with the next look.
  followed.is_promotion_new = listing && source.promoted() != listing->promoted &&
                              parts_->server.models().promote(name_, source.promoted()).has_value();
  return followed;
}

// The second door, with the keys and limits of the first.
Status ServingProcess::open_grpc(const Doors& doors) {
  if (!doors.grpc_port) return {};
  GrpcDoorSettings settings{.version = COTERIE_VERSION,
                            .address = options_.address,
                            .port = *doors.grpc_port,
                            .shares_port = doors.shares_grpc_port};
  settings.message_bytes_max = static_cast<uint64_t>(options_.body_mib_max) << 20;
  if (!options_.is_insecure) {
    settings.token = keys_.token;
    settings.certificate_file = keys_.certificate_file;
    settings.key_file = keys_.key_file;
  }
  auto door = GrpcDoor::open(settings, parts_->server);
  if (!door) return door.error().with_context("--grpc");
  parts_->grpc = *std::move(door);
  return {};
}

Result<ServingProcess::Ports> ServingProcess::open(const Doors& doors) {
  ThreadLooks& looks = parts_->looks.emplace(cores_of_one(options_));
  parts_->http = std::make_unique<HttpServer>(cores_of_one(options_), parts_->metrics);
  parts_->http->observe_delays([&looks](size_t thread, Millis) { looks.looked(thread); });
  ListenerSettings settings{.plane = "serving", .address = options_.address, .port = options_.port, .limits = {}};
  settings.bound_socket = doors.rest_socket;
  COT_ASSIGN(const uint16_t port, parts_->http->listen(settings, keys_.tls, parts_->server.service()));
  COT_TRY(open_grpc(doors));
  parts_->http->start();
  parts_->memory = std::make_unique<MemoryReturn>(
      kMemoryLookEvery, [this] { return parts_->http->held_bytes(); }, [] {});
  parts_->is_open = true;
  return Ports{port, parts_->grpc ? std::optional(parts_->grpc->port()) : std::nullopt};
}

bool ServingProcess::shows_life() { return !parts_->is_open || parts_->looks->have_all_looked(); }

void ServingProcess::stop() {
  parts_->memory.reset();
  const Instant until = os::monotonic_now() + kDrainMax;  // of both doors together
  if (parts_->http) parts_->http->stop_accepting();
  if (parts_->grpc) parts_->grpc->stop(kDrainMax);
  if (parts_->http) (void)parts_->http->wait_until_quiet(until - os::monotonic_now());
  parts_->server.stop();
  if (parts_->http) parts_->http->stop();
}

std::string serving_url(const ServeOptions& options, uint16_t port) {
  return (options.is_insecure ? "http://" : "https://") + host_of(options) + ":" + std::to_string(port);
}

void tell_how_to_ask(const ServeOptions& options, const ServingKeys& keys, const ServingProcess::Ports& ports) {
  const std::string url = serving_url(options, ports.rest);
  if (options.is_insecure) tell("INSECURE: no TLS and no token. Every process of this machine may ask.");
  print_text(url + "\n");
  if (ports.grpc) tell("gRPC: " + host_of(options) + ":" + std::to_string(*ports.grpc));
  std::string text = "Ask it:\n  curl ";
  if (!keys.ca_file.empty()) text += "--cacert " + keys.ca_file + " ";
  if (!options.is_insecure) text += "-H \"Authorization: Bearer $(cat " + keys.token_file + ")\" ";
  tell(text + url + "/v2/models/" + served_name(options));
}

}  // namespace coterie

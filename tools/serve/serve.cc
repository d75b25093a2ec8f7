#include "tools/serve/serve.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/net/http_server.h"
#include "fl_server/serving/grpc/grpc_door.h"
#include "fl_server/serving/model_server.h"
#include "fl_server/serving/steps_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/serve/model_source.h"
#include "tools/serve/serving_keys.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "serve";
constexpr Millis kLookEvery{500};
constexpr Millis kDrainMax{20'000};

void tell(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

std::string file_of(const std::string& source) {
  return std::filesystem::is_directory(source) ? source + "/model.cotf" : source;
}

std::string name_of(const ServeOptions& options) {
  if (!options.name.empty()) return options.name;
  return options.source.empty() ? options.job : std::filesystem::path(file_of(options.source)).stem().string();
}

// Keeps its client.
class RemoteJob final : public ModelSource {
 public:
  RemoteJob(std::unique_ptr<AdminClient> client, const std::string& job)
      : client_(std::move(client)),
        source_({.get = [this](const std::string& target) { return client_->get(target); },
                 .get_models = [this](const std::string& target) { return client_->get_pages(target, "models"); },
                 .download = [this](const std::string& target) { return client_->download(target); }},
                job) {}
  Result<std::optional<SourcedVersion>> next() override { return source_.next(); }
  std::optional<uint64_t> promoted() const override { return source_.promoted(); }

 private:
  std::unique_ptr<AdminClient> client_;
  JobSource source_;
};

Result<std::unique_ptr<ModelSource>> open_source(const ServeOptions& options, const AdminCommand& admin) {
  if (options.job.empty()) return std::unique_ptr<ModelSource>(new FileSource(file_of(options.source)));
  COT_ASSIGN(const AdminEndpoint endpoint, find_admin(admin.connection));
  COT_ASSIGN(auto client, AdminClient::make(endpoint, Interrupt::flag()));
  return std::unique_ptr<ModelSource>(new RemoteJob(std::move(client), options.job));
}

ModelServerSettings settings_of(const ServeOptions& options, const ServingKeys& keys) {
  ModelServerSettings settings{
      .workers = options.workers, .batch_max = options.batch_max, .waiting_max = options.waiting_max};
  settings.service.version = COTERIE_VERSION;
  settings.service.body_bytes_max = static_cast<uint64_t>(options.body_mib_max) << 20;
  settings.service.router.wait_max = Millis(options.wait_ms_max);
  settings.service.router.canary_percent = options.canary_percent;
  settings.service.router.has_shadow = options.has_shadow;
  if (!options.is_insecure) settings.service.token = keys.token;
  return settings;
}

// The second door, with the keys and limits of the first. Null: nobody asked for it.
Result<std::unique_ptr<GrpcDoor>> open_grpc(const ServeOptions& options, const ServingKeys& keys, ModelServer& server) {
  if (!options.grpc_port) return std::unique_ptr<GrpcDoor>();
  GrpcDoorSettings settings{.version = COTERIE_VERSION, .address = options.address, .port = *options.grpc_port};
  settings.message_bytes_max = static_cast<uint64_t>(options.body_mib_max) << 20;
  if (!options.is_insecure) {
    settings.token = keys.token;
    settings.certificate_file = keys.certificate_file;
    settings.key_file = keys.key_file;
  }
  auto door = GrpcDoor::open(settings, server);
  if (!door) return door.error().with_context("--grpc");
  return door;
}

// What clients ask by, and what stands around its model.
struct ServedName {
  std::string name;
  std::shared_ptr<const ServingSteps> steps;
};

// Has what the source says next answer; whether anything was new.
Result<bool> follow(ModelSource& source, ModelServer& server, const ServedName& served) {
  const std::string& name = served.name;
  COT_ASSIGN(std::optional<SourcedVersion> next, source.next());
  if (next) {
    const Standing standing = source.promoted() == next->number ? Standing::promoted
                              : source.promoted()               ? Standing::candidate
                                                                : Standing::latest;
    COT_TRY(server.publish(name, std::move(next->file), next->number, standing, kDefaultTenant, served.steps));
    tell("serving " + name + " version " + std::to_string(next->number));
  }
  const Result<ServedModels::Listing> listing = server.models().list(name);
  // A version that is not here yet comes with the next look.
  if (listing && source.promoted() != listing->promoted && server.models().promote(name, source.promoted()))
    tell("promoted: " + (source.promoted() ? "version " + std::to_string(*source.promoted()) : "none"));
  return next.has_value();
}

std::string how_to_ask(const std::string& url, const std::string& name, const ServeOptions& options,
                       const ServingKeys& keys) {
  std::string text = "  curl ";
  if (!keys.ca_file.empty()) text += "--cacert " + keys.ca_file + " ";
  if (!options.is_insecure) text += "-H \"Authorization: Bearer $(cat " + keys.token_file + ")\" ";
  return text + url + "/v2/models/" + name;
}

// Whatever goes wrong with a new version, those before it go on answering.
Status run(ModelSource& source, ModelServer& server, const ServedName& served) {
  std::string told;
  for (;;) {
    if (const Status waited = Interrupt::wait(kLookEvery); !waited) return waited;
    const Result<bool> followed = follow(source, server, served);
    if (followed || followed.error().code() == ErrorCode::cancelled) {
      told.clear();
      continue;
    }
    if (followed.error().message() != told) print_error(kCommand, followed.error());
    told = followed.error().message();
  }
}

Status serve(const ServeOptions& options, const AdminCommand& admin) {
  ServingKeys keys;
  if (!options.is_insecure) {
    COT_ASSIGN(keys, open_serving_keys(options, os::wall_now()));
  }
  COT_ASSIGN(const auto source, open_source(options, admin));
  ServedName served{.name = name_of(options), .steps = nullptr};
  if (!options.steps.empty()) {
    COT_ASSIGN(served.steps, read_steps_file(options.steps));
  }
  Metrics metrics(COTERIE_VERSION);
  ModelServer server(settings_of(options, keys), metrics);
  const Result<bool> first = follow(*source, server, served);
  // A job without a model has one after its first round.
  if (!first && (options.job.empty() || first.error().code() != ErrorCode::not_found)) return first.error();
  HttpServer http(std::max(1u, std::thread::hardware_concurrency()), metrics);
  COT_ASSIGN(const uint16_t port,
             http.listen({"serving", options.address, options.port, {}}, keys.tls, server.service()));
  COT_ASSIGN(const auto grpc, open_grpc(options, keys, server));
  http.start();
  const std::string host =
      options.address.find(':') == std::string::npos ? options.address : "[" + options.address + "]";
  const std::string url = (options.is_insecure ? "http://" : "https://") + host + ":" + std::to_string(port);
  if (options.is_insecure) tell("INSECURE: no TLS and no token. Every process of this machine may ask.");
  print_text(url + "\n");
  if (grpc) tell("gRPC: " + host + ":" + std::to_string(grpc->port()));
  tell("Ask it:\n" + how_to_ask(url, served.name, options, keys));
  const Status ended = run(*source, server, served);
  http.stop_accepting();
  if (grpc) grpc->stop(kDrainMax);
  (void)http.wait_until_quiet(kDrainMax);
  server.stop();
  http.stop();
  return ended;
}

}  // namespace

ExitCode serve_model(const ServeOptions& options, const AdminCommand& admin) {
  const Status ended = serve(options, admin);
  if (ended) return ExitCode::ok;
  if (ended.error().code() == ErrorCode::cancelled && Interrupt::requested()) return ExitCode::interrupted;
  print_error(kCommand, ended.error());
  return options.job.empty() && ended.error().code() == ErrorCode::not_found ? ExitCode::usage
                                                                             : exit_code_of(ended.error().code());
}

}  // namespace coterie

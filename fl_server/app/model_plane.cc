#include "fl_server/app/model_plane.h"

#include <utility>

#include "base/log.h"
#include "fl_server/app/model_news.h"
#include "fl_server/app/observers.h"
#include "fl_server/app/server_keys.h"
#include "fl_server/app/server_stores.h"
#include "fl_server/config/endpoints.h"
#include "fl_server/config/server_config.h"
#include "fl_server/net/http_server.h"
#include "fl_server/serving/model_follower.h"
#include "fl_server/serving/model_server.h"
#include "fl_server/store/sql_training_store.h"
#include "secure/identity/bearer_token.h"
#include "secure/identity/key_file.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{5'000};  // where nothing is heard: a job was deleted, or another node leads

ModelServerSettings settings_of(const ServingConfig& config, const std::string& token) {
  ModelServerSettings settings{.workers = config.workers,
                               .batch_max = config.batch_max,
                               .waiting_max = config.waiting_max,
                               .version_bytes_max = config.version_bytes_max};
  settings.service.version = kVersion;
  settings.service.body_bytes_max = config.body_bytes_max;
  settings.service.canary_percent = config.canary_percent;
  settings.service.has_shadow = config.has_shadow;
  settings.service.wait_max = config.wait_max;
  settings.service.token = token_digest(token);
  return settings;
}

}  // namespace

ModelPlane::ModelPlane(std::unique_ptr<ModelServer> server, std::unique_ptr<ModelFollower> follower, ModelNews& news)
    : server_(std::move(server)), follower_(std::move(follower)), news_(news) {}

ModelPlane::~ModelPlane() { stop(); }

Result<std::unique_ptr<ModelPlane>> ModelPlane::open(const ServerConfig& config, const ServerKeys& keys,
                                                     ServerStores& stores, Observers& observers, ModelNews& news,
                                                     HttpServer& http) {
  if (!config.serving) return std::unique_ptr<ModelPlane>();
  const std::string token_file = keys.data.path("serving-token");
  COT_ASSIGN(const std::string token, load_or_create_token(token_file));
  auto server = std::make_unique<ModelServer>(settings_of(*config.serving, token), observers.metrics);
  auto follower = std::make_unique<ModelFollower>(
      FollowedJobs{.jobs = config.serving->jobs, .models_max = config.serving->models_max}, stores.training(),
      stores.training(), stores.blobs(), *server);
  std::unique_ptr<ModelPlane> plane(new ModelPlane(std::move(server), std::move(follower), news));
  const ListenConfig& listen = config.serving->listen;
  COT_ASSIGN(const uint16_t port,
             http.listen({"serving", listen.address, listen.port, listen.limits}, keys.tls, plane->server_->service()));
  plane->url_ = url_of(listen.address, port);
  plane->token_file_ = token_file;
  return plane;
}

void ModelPlane::start() {
  thread_ = std::thread([this] { follow(); });
}

void ModelPlane::follow() {
  while (!news_.is_closed()) {
    if (const Status looked = follower_->look(); !looked)
      log(LogLevel::warning, "models_not_followed", {{"error", looked.error().message()}});
    news_.wait(kLookEvery);
  }
}

void ModelPlane::stop() {
  news_.close();
  if (thread_.joinable()) thread_.join();
  server_->stop();
}

}  // namespace coterie

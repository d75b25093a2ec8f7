// ModelPlane: the plane on which a server answers with its jobs' models, and the thread that follows them. It has
// network threads and workers of its own, so that who asks models takes none from devices. A model answers as soon as
// its round's end, or its promotion, is told: by this node, or over the peer plane by the one that leads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/net/tls_context.h"

namespace coterie {

class BackgroundLoader;
class FleetSide;
class GrpcDoor;
class HttpServer;
class ModelFollower;
class ModelGate;
class ModelNews;
class ModelServer;
class RemoteNews;
struct AdminCaller;
struct Observers;
struct ServerConfig;
struct ServerKeys;
class ServerStores;

// What it works on; outlives it.
struct ModelPlaneParts {
  const ServerKeys& keys;
  ServerStores& stores;
  Observers& observers;
  ModelNews& news;   // hears from the observers' hub
  FleetSide* fleet;  // null: this server is alone
  // Says who an identity provider's token is; empty: no provider's tokens are taken.
  std::function<Result<AdminCaller>(std::string_view token, WallTime now)> verify_foreign;
};

class ModelPlane {
 public:
  // unavailable, naming address and port, if they cannot be listened on. Null: the configuration has no `serving`.
  static Result<std::unique_ptr<ModelPlane>> open(const ServerConfig& config, ModelPlaneParts parts);
  ~ModelPlane();

  // From now on models are followed, and requests are answered.
  void start();
  // New connections get this certificate. Thread-safe.
  void set_tls(const TlsContext& tls);
  uint64_t held_bytes() const;  // about what bodies and connections hold
  // Requests under way are answered, for at most so long; then nothing is answered or followed any more.
  void stop(Millis patience);
  const std::string& url() const { return url_; }
  const std::string& grpc() const { return grpc_; }  // HOST:PORT; empty: it does not answer over gRPC
  const std::string& token_file() const { return token_file_; }

 private:
  explicit ModelPlane(ModelNews& news);
  void follow();
  void followed(const Status& status);
  bool wait_for_news(Instant until);

  ModelNews& news_;
  std::unique_ptr<ModelGate> gate_;
  std::unique_ptr<ModelServer> server_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<GrpcDoor> grpc_door_;  // null: the configuration wants none
  std::unique_ptr<BackgroundLoader> loader_;
  std::unique_ptr<ModelFollower> follower_;
  std::unique_ptr<RemoteNews> remote_;  // null: this server is alone
  Instant begins_at_{};                 // a stream of the node that leads, if there is none
  std::string url_, grpc_, token_file_;
  std::thread thread_;
  bool is_stopped_ = false;
};

}  // namespace coterie

// ModelPlane: the plane on which a server answers with its jobs' models, and the thread that follows them. A model
// answers as soon as its round's end, or its promotion, is told; on a node that hears of neither, within seconds.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/result.h"

namespace coterie {

class HttpServer;
class ModelFollower;
class ModelNews;
class ModelServer;
struct Observers;
struct ServerConfig;
struct ServerKeys;
class ServerStores;

class ModelPlane {
 public:
  // unavailable, naming address and port, if they cannot be listened on. Null: the configuration has no `serving`.
  // `news` hears from the observers' hub; all outlive the plane.
  static Result<std::unique_ptr<ModelPlane>> open(const ServerConfig& config, const ServerKeys& keys,
                                                  ServerStores& stores, Observers& observers, ModelNews& news,
                                                  HttpServer& http);
  ~ModelPlane();

  // From now on models are followed.
  void start();
  // Ends what waits for a worker, and follows no more. Before the network threads stop.
  void stop();
  const std::string& url() const { return url_; }
  const std::string& token_file() const { return token_file_; }

 private:
  ModelPlane(std::unique_ptr<ModelServer> server, std::unique_ptr<ModelFollower> follower, ModelNews& news);
  void follow();

  std::unique_ptr<ModelServer> server_;
  std::unique_ptr<ModelFollower> follower_;
  ModelNews& news_;
  std::string url_, token_file_;
  std::thread thread_;
};

}  // namespace coterie

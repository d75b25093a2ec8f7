// Server: builds a process from its configuration, runs it, takes it down. The only place that knows all the parts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "fl_server/config/server_config.h"

namespace coterie {

class Server {
 public:
  // Prepares the data directory (keys, certificates, database, blobs), binds, starts. The error says what to do.
  // Where the store is shared it is one of a fleet, and may lead it, now or later. `on_lost` is called, on a thread of
  // its own, when it does not lead any more: nothing it decides will be stored, and the process is to end.
  static Result<std::unique_ptr<Server>> start(const ServerConfig& config,
                                               std::function<void(const std::string& why)> on_lost);
  ~Server();

  const std::string& device_url() const;
  const std::string& admin_url() const;
  const std::string& serving_url() const;   // empty: it answers with no model
  const std::string& serving_grpc() const;  // HOST:PORT; empty: not over gRPC
  const std::string& ca_file() const;       // empty if the operator brought a certificate
  const std::string& admin_token_file() const;

  // Takes what an operator has replaced: certificate and key, the admin token. Done every few seconds anyhow. How many
  // were taken; what is wrong is logged, and what was there before stays in use.
  size_t rotate_files();

  // Readiness off, no new connections, devices sent away, uploads finished and flushed, threads joined.
  void stop();

 private:
  struct Parts;
  struct Running;
  Server(std::unique_ptr<Parts> parts, std::unique_ptr<Running> running);
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<Running> running_;
  bool is_stopped_ = false;
};

}  // namespace coterie

// Server: builds a process from its configuration, runs it, takes it down. The only place that knows all the parts.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "fl_server/config/server_config.h"

namespace coterie {

class Server {
 public:
  // Prepares the data directory (keys, certificates, database, blobs), binds, starts. The error says what to do.
  static Result<std::unique_ptr<Server>> start(const ServerConfig& config);
  ~Server();

  const std::string& device_url() const;
  const std::string& admin_url() const;
  const std::string& ca_file() const;           // empty if the operator brought a certificate
  const std::string& admin_token_file() const;

  // Readiness off, no new connections, devices sent away, uploads finished and flushed, threads joined.
  void stop();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace coterie

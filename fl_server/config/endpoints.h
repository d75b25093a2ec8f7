// endpoints.json: where a running server can be reached, for tools on the same machine.
#pragma once

#include <cstdint>
#include <string>

namespace coterie {

struct Endpoints {
  std::string device_url;
  std::string admin_url;
  std::string ca_file;  // empty if the operator brought a certificate
  std::string admin_token_file;
  int pid = 0;
  std::string serving_url = {};  // this and the token only where models are served
  std::string serving_token_file = {};
  std::string serving_grpc = {};  // HOST:PORT; empty: not over gRPC
};

// Where a listener is reached from this machine: 127.0.0.1 for one that listens on every address. HOST:PORT, and
// https:// before it.
std::string authority_of(const std::string& address, uint16_t port);
std::string url_of(const std::string& address, uint16_t port);

std::string to_json_text(const Endpoints& endpoints);

}  // namespace coterie

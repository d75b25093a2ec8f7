// Where a server's admin plane is, and how we prove that we may use it.
#pragma once

#include <string>

#include "base/result.h"

namespace coterie {

// As the user said it, by flags or environment; empty: not said.
struct ConnectionOptions {
  std::string data_dir;   // of a server on this machine: its endpoints.json says the rest
  std::string admin_url;  // or each thing by itself
  std::string ca_file;
  std::string token_file;
};

struct AdminEndpoint {
  std::string url;
  std::string ca_pem;  // empty: the system's certificates
  std::string token;
};

inline constexpr const char* kDefaultDataDir = "coterie-data";  // fl_server's own default

// Reads the files. What is said by itself goes before what endpoints.json says. Errors say which setting is wrong and
// what to do about it.
Result<AdminEndpoint> find_admin(const ConnectionOptions& options);

// The addresses in `data_dir`/endpoints.json.
struct ServerEndpoints {
  std::string device_url;
  std::string admin_url;
  std::string ca_file;
  std::string admin_token_file;
  int pid = 0;
};
Result<ServerEndpoints> read_endpoints(const std::string& data_dir);

}  // namespace coterie

// endpoints.json: where a running server can be reached, for tools on the same machine.
#pragma once

#include <string>

namespace coterie {

struct Endpoints {
  std::string device_url;
  std::string admin_url;
  std::string ca_file;  // empty if the operator brought a certificate
  std::string admin_token_file;
  int pid = 0;
};

std::string to_json_text(const Endpoints& endpoints);

}  // namespace coterie

#include "fl_server/config/endpoints.h"

#include <nlohmann/json.hpp>

namespace coterie {

std::string authority_of(const std::string& address, uint16_t port) {
  const bool any = address == "0.0.0.0" || address == "::";
  const std::string host = any ? "127.0.0.1" : address.find(':') != std::string::npos ? "[" + address + "]" : address;
  return host + ":" + std::to_string(port);
}

std::string url_of(const std::string& address, uint16_t port) { return "https://" + authority_of(address, port); }

std::string to_json_text(const Endpoints& endpoints) {
  nlohmann::json json = {{"device_url", endpoints.device_url},
                         {"admin_url", endpoints.admin_url},
                         {"ca_file", endpoints.ca_file},
                         {"admin_token_file", endpoints.admin_token_file},
                         {"pid", endpoints.pid}};
  if (!endpoints.serving_url.empty()) {
    json["serving_url"] = endpoints.serving_url;
    json["serving_token_file"] = endpoints.serving_token_file;
  }
  if (!endpoints.serving_grpc.empty()) json["serving_grpc"] = endpoints.serving_grpc;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";  // paths need not be UTF-8
}

}  // namespace coterie

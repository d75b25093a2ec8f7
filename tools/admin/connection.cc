#include "tools/admin/connection.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 20;

// Relative paths in endpoints.json are the server's, which may have run elsewhere: then the file lies in its data
// directory all the same.
std::string locate(const std::string& path, const std::string& in_data_dir) {
  const bool elsewhere = !path.empty() && path.front() != '/' && !os::exists(path) && os::exists(in_data_dir);
  return elsewhere ? in_data_dir : path;
}

Result<std::string> read_text(const std::string& path) {
  COT_ASSIGN(const Bytes bytes, os::read_file(path, kFileBytesMax));
  return std::string(as_text(bytes));
}

Result<std::string> read_token(const std::string& path) {
  Result<std::string> token = read_text(path);
  if (!token) return token.error().with_context("admin token");
  token->erase(token->find_last_not_of(" \r\n") + 1);
  if (token->empty()) return Error(ErrorCode::invalid_argument, "admin token: " + path + " is empty");
  return token;
}

}  // namespace

Result<ServerEndpoints> read_endpoints(const std::string& data_dir) {
  const std::string path = data_dir + "/endpoints.json";
  if (!os::exists(path)) {
    return Error(ErrorCode::not_found, "no server runs on " + data_dir + ": there is no " + path +
                                           "; start one with `fl_server --data-dir " + data_dir +
                                           "`, or say where it is with --data-dir or --admin-url");
  }
  COT_ASSIGN(const std::string text, read_text(path));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  ServerEndpoints endpoints;
  try {
    endpoints.device_url = json.at("device_url").get<std::string>();
    endpoints.admin_url = json.at("admin_url").get<std::string>();
    endpoints.ca_file = locate(json.at("ca_file").get<std::string>(), data_dir + "/tls/ca.pem");
    endpoints.admin_token_file = locate(json.at("admin_token_file").get<std::string>(), data_dir + "/admin-token");
    endpoints.pid = json.at("pid").get<int>();
  } catch (const nlohmann::json::exception&) {
    return Error(ErrorCode::malformed, path + " is not what fl_server writes; is it of another version?");
  }
  return endpoints;
}

Result<AdminEndpoint> find_admin(const ConnectionOptions& options) {
  std::string url = options.admin_url, ca_file = options.ca_file, token_file = options.token_file;
  if (url.empty() || token_file.empty()) {
    if (!url.empty() && options.data_dir.empty()) {
      return Error(ErrorCode::invalid_argument, "--admin-url needs --token-file (the server's admin-token), too");
    }
    const std::string data_dir = options.data_dir.empty() ? kDefaultDataDir : options.data_dir;
    COT_ASSIGN(const ServerEndpoints endpoints, read_endpoints(data_dir));
    if (ca_file.empty() && url.empty()) ca_file = endpoints.ca_file;
    if (url.empty()) url = endpoints.admin_url;
    if (token_file.empty()) token_file = endpoints.admin_token_file;
  }
  AdminEndpoint endpoint{.url = url, .ca_pem = {}, .token = {}};
  if (!ca_file.empty()) {
    Result<std::string> pem = read_text(ca_file);
    if (!pem) return pem.error().with_context("CA file");
    endpoint.ca_pem = std::move(*pem);
  }
  COT_ASSIGN(endpoint.token, read_token(token_file));
  return endpoint;
}

}  // namespace coterie

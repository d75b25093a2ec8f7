#include "tools/serve/serving_keys.h"

#include <utility>

#include "base/os/file.h"
#include "secure/crypto/dev_ca.h"
#include "secure/identity/bearer_token.h"
#include "secure/identity/key_file.h"

namespace coterie {
namespace {

constexpr int kCaDays = 3650;
constexpr int kServerDays = 397;
constexpr uint64_t kTokenBytesMax = 4096;
constexpr uint64_t kPemBytesMax = 64 * 1024;

Result<Digest> token_in(const std::string& path, bool may_make) {
  if (may_make) {
    COT_ASSIGN(const std::string token, load_or_create_token(path));
    return token_digest(token);
  }
  COT_ASSIGN(const Bytes bytes, os::read_file(path, kTokenBytesMax));
  std::string_view text = as_text(bytes);
  text = text.substr(0, text.find_first_of("\r\n"));
  if (text.size() < 16) return Error(ErrorCode::invalid_argument, path + ": a token has at least 16 characters");
  return token_digest(text);
}

// The certificate is made anew each time, of an authority that stays: clients trust that.
Status make_certificate(const std::string& directory, const std::string& address, WallTime now) {
  const std::string ca_file = directory + "/ca.pem", ca_key = directory + "/ca-key.pem";
  if (!os::exists(ca_file)) {
    COT_ASSIGN(const PemPair made, make_dev_ca(now, kCaDays));
    COT_TRY(os::write_file_atomically(ca_key, as_bytes(made.private_key)));
    COT_TRY(os::write_file_atomically(ca_file, as_bytes(made.certificate)));
  }
  COT_ASSIGN(const Bytes certificate, os::read_file(ca_file, kPemBytesMax));
  COT_ASSIGN(const Bytes key, os::read_file(ca_key, kPemBytesMax));
  std::vector<std::string> names{"localhost", "127.0.0.1", "::1"};
  if (address != "127.0.0.1" && address != "::1" && address != "0.0.0.0" && address != "::") names.push_back(address);
  const PemPair ca{std::string(as_text(certificate)), std::string(as_text(key))};
  COT_ASSIGN(const PemPair leaf, make_server_certificate(ca, names, now, kServerDays));
  COT_TRY(os::write_file_atomically(directory + "/server-key.pem", as_bytes(leaf.private_key)));
  return os::write_file_atomically(directory + "/server.pem", as_bytes(leaf.certificate));
}

std::string token_file_of(const ServeOptions& options) {
  return options.client_token_file.empty() ? options.state_dir + "/token" : options.client_token_file;
}

}  // namespace

Result<ServingKeys> reopen_serving_keys(const ServeOptions& options) {
  ServeOptions made = options;
  made.client_token_file = token_file_of(options);
  if (options.certificate_file.empty()) {
    made.certificate_file = options.state_dir + "/server.pem";
    made.key_file = options.state_dir + "/server-key.pem";
  }
  return open_serving_keys(made, {});
}

Result<ServingKeys> open_serving_keys(const ServeOptions& options, WallTime now) {
  const bool has_token = !options.client_token_file.empty(), has_certificate = !options.certificate_file.empty();
  if (!has_token || !has_certificate) COT_TRY(os::make_directories(options.state_dir));
  ServingKeys keys;
  keys.token_file = token_file_of(options);
  COT_ASSIGN(keys.token, token_in(keys.token_file, !has_token));
  std::string certificate = options.certificate_file, key = options.key_file;
  if (!has_certificate) {
    COT_TRY(make_certificate(options.state_dir, options.address, now));
    certificate = options.state_dir + "/server.pem";
    key = options.state_dir + "/server-key.pem";
    keys.ca_file = options.state_dir + "/ca.pem";
  }
  COT_ASSIGN(keys.tls, make_server_tls(certificate, key));
  keys.certificate_file = std::move(certificate);
  keys.key_file = std::move(key);
  return keys;
}

}  // namespace coterie

#include "fl_server/app/rotated_keys.h"

#include <utility>

namespace coterie {

std::vector<RotatedFiles> rotated_keys(const ServerKeys& keys, KeyUsers users) {
  const auto tls = [&files = keys.tls_files, take = std::move(users.take_tls)]() -> Status {
    COT_ASSIGN(const TlsContext renewed, make_server_tls(files.certificate, files.key));
    take(renewed);
    return {};
  };
  const auto token = [&data = keys.data, take = std::move(users.take_admin_token)]() -> Status {
    COT_ASSIGN(const std::string renewed, data.admin_token());
    take(renewed);
    return {};
  };
  const auto old_tickets = [&data = keys.data, take = std::move(users.take_old_tickets)]() -> Status {
    COT_ASSIGN(std::shared_ptr<const MacKey> key, data.old_ticket_key());
    take(std::move(key));
    return {};
  };
  const auto statements = [&keys, take = std::move(users.take_key_statements)]() -> Status {
    COT_ASSIGN(const auto stated, keys.data.key_statements(keys.signer->public_key()));
    take(stated);
    return {};
  };
  std::vector<RotatedFiles> rotated = {{"tls", {keys.tls_files.certificate, keys.tls_files.key}, tls},
                                       {"admin_token", {keys.data.admin_token_path()}, token},
                                       {"old_ticket_key", {keys.data.old_ticket_key_path()}, old_tickets},
                                       {"key_statements", {keys.data.key_statements_path()}, statements}};
  if (!keys.revocations_file.empty()) {
    rotated.push_back({"revocations", {keys.revocations_file}, [&keys] { return keys.take_revocations(); }});
  }
  return rotated;
}

}  // namespace coterie

#include "fl_server/app/server_keys.h"

#include <utility>

#include "base/os/file.h"

namespace coterie {
namespace {

Result<ServerKeys::Peer> open_peer(const ServerConfig& config, const DataDirectory& data, WallTime now) {
  COT_ASSIGN(PeerFiles files, data.peer_files(config.peer, now));
  COT_ASSIGN(TlsContext tls, make_peer_tls(files.certificate, files.key, files.ca));
  return ServerKeys::Peer{std::move(files), std::move(tls)};
}

}  // namespace

Result<std::unique_ptr<ServerKeys>> ServerKeys::open(const ServerConfig& config, WallTime now) {
  COT_ASSIGN(DataDirectory data, DataDirectory::open(config.data_dir, config.keys_dir));
  COT_ASSIGN(MacKey ticket, data.ticket_key());
  COT_ASSIGN(std::shared_ptr<const MacKey> old_ticket, data.old_ticket_key());
  COT_ASSIGN(MacKey noise, data.noise_key());
  COT_ASSIGN(std::unique_ptr<Signer> signer, data.signer());
  COT_ASSIGN(std::vector<KeyStatement> key_statements, data.key_statements(signer->public_key()));
  COT_ASSIGN(std::string admin_token, data.admin_token());
  COT_ASSIGN(TlsFiles tls_files, data.tls_files(config.tls, now));
  COT_ASSIGN(TlsContext tls, make_server_tls(tls_files.certificate, tls_files.key));
  std::optional<Peer> peer;
  if (config.store.is_shared()) {
    COT_ASSIGN(peer, open_peer(config, data, now));
  }
  data.keys_are_loaded();
  auto keys =
      std::make_unique<ServerKeys>(ServerKeys{.data = std::move(data),
                                              .ticket = std::move(ticket),
                                              .old_ticket = std::move(old_ticket),
                                              .noise = std::move(noise),
                                              .signer = std::move(signer),
                                              .key_statements = std::move(key_statements),
                                              .admin_token = std::move(admin_token),
                                              .tls_files = std::move(tls_files),
                                              .tls = std::move(tls),
                                              .peer = std::move(peer),
                                              .revocations = std::make_shared<Revocations>(config.authority_key),
                                              .revocations_file = config.authority_revocations_file});
  if (!keys->revocations_file.empty()) COT_TRY(keys->take_revocations());
  return keys;
}

Status ServerKeys::take_revocations() const {
  COT_ASSIGN(Bytes bytes, os::read_file(revocations_file, kRevocationListBytesMax));
  return revocations->take(std::move(bytes));
}

}  // namespace coterie

// ServerKeys: what this process proves itself with, and what it proves others with: the data directory it owns, the
// keys in it, the operators' token and its certificates. All of them are there, or made, before anything listens.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/app/data_directory.h"
#include "fl_server/config/server_config.h"
#include "fl_server/net/tls_context.h"
#include "fl_server/runtime/revocations.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/signature.h"

namespace coterie {

struct ServerKeys {
  // For the plane on which the servers of a fleet talk to each other.
  struct Peer {
    PeerFiles files;
    TlsContext tls;
  };

  // Takes the lock of the data directory: conflict if another server has it. Servers that share a directory of keys
  // wait for each other in here, so that each key is made once. A certificate of ours that ends soon is renewed.
  static Result<std::unique_ptr<ServerKeys>> open(const ServerConfig& config, WallTime now);
  // Reads the file anew. What Revocations::take() refuses, and what reading refuses.
  Status take_revocations() const;

  DataDirectory data;
  MacKey ticket;
  std::shared_ptr<const MacKey> old_ticket;  // of tickets from before the last rotation; null: there is none
  MacKey noise;
  std::unique_ptr<Signer> signer;
  std::vector<KeyStatement> key_statements;  // of the signer's succession, as devices are told
  std::string admin_token;
  TlsFiles tls_files;
  TlsContext tls;
  std::optional<Peer> peer;  // of a fleet
  // The authority's that certifies devices; without one there is never a list.
  std::shared_ptr<Revocations> revocations;
  std::string revocations_file;  // where the operator puts the newest; empty: there is none
};

}  // namespace coterie

// The data directory of a server: who owns it, and where things lie in it.
//
//   lock                 held while a server runs
//   incarnation          names the life of the process that has, or had, the lock
//   endpoints.json       URLs and files of the running server, for tools on the same machine
//   admin-token          the operator's bearer token (0600)
//   serving-token        of whoever asks served models, where they are (0600)
//   keys/                ticket key (and perhaps the one before), noise key, signing key (0600)
//   tls/                 ca.pem, server.pem and their keys, if the certificate is ours (a fleet's CA: with its keys)
//   coterie.sqlite3      jobs, rounds, devices
//   ledger.heads         what names the privacy ledger, outside of the database (ledger_anchor.h)
//   blobs/  partials/    models, plans, data sets; partial sums of rounds under way
#pragma once

#include <memory>
#include <string>

#include "base/os/file.h"
#include "base/result.h"
#include "fl_server/config/server_config.h"
#include "proto/messages/pinned_keys.h"
#include "secure/crypto/dev_ca.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/signature.h"

namespace coterie {

struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string ca;  // empty if the operator brought the certificate
};

struct PeerFiles {
  std::string certificate;
  std::string key;
  std::string ca;
};

class DataDirectory {
 public:
  // Creates it if need be and takes the lock; conflict if another server has it. A directory or a database that others
  // may read is theirs no more, and the log says so, or that it could not be helped. `keys` is where the keys and the
  // admin token are, if they are not here; several servers may share it: it is theirs in turn until keys_are_loaded(),
  // so that keys are made once.
  static Result<DataDirectory> open(const std::string& path, const std::string& keys = {});

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  Result<MacKey> ticket_key() const;
  // The key of tickets that were made before ticket.key was replaced; null: there is none.
  Result<std::shared_ptr<const MacKey>> old_ticket_key() const;
  std::string old_ticket_key_path() const { return keys_ + "/ticket-old.key"; }
  Result<MacKey> noise_key() const;
  Result<std::unique_ptr<Signer>> signer() const;
  // What signing keys have said of their successors (secure/identity/signing_key_file.h). invalid_argument unless the
  // last one is by `signing_key` or names it, and as load_key_statements.
  Result<std::vector<KeyStatement>> key_statements(ByteView signing_key) const;
  std::string key_statements_path() const;
  Result<std::string> admin_token() const;
  // The name of the process's life before this one, empty if there was none; from now on it is `present`.
  Result<std::string> incarnation_before(const std::string& present) const;
  const std::string& admin_token_path() const { return token_; }
  // For the peer plane: the operator's files, or a certificate of an authority that lies with the keys.
  Result<PeerFiles> peer_files(const PeerConfig& config, WallTime now) const;
  // Other servers that share the keys may go on: all that may be made have been made.
  void keys_are_loaded() { keys_lock_ = {}; }
  // The operator's files, or a server certificate of a development CA. Both are renewed before they expire. Servers
  // that share their keys share the CA: it lies there, and a copy of its certificate here.
  Result<TlsFiles> tls_files(const TlsConfig& config, WallTime now) const;

 private:
  DataDirectory(std::string path, std::string keys, std::string token, os::File lock, os::File keys_lock)
      : path_(std::move(path)),
        keys_(std::move(keys)),
        token_(std::move(token)),
        lock_(std::move(lock)),
        keys_lock_(std::move(keys_lock)) {}
  Result<PemPair> development_ca(WallTime now) const;

  std::string path_;
  std::string keys_;
  std::string token_;
  os::File lock_;
  os::File keys_lock_;
};

}  // namespace coterie

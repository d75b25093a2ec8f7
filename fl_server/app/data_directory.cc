#include "fl_server/app/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

#include "base/log.h"
#include "base/os/crash_point.h"
#include "secure/crypto/dev_ca.h"
#include "secure/identity/key_file.h"
#include "secure/identity/signing_key_file.h"

namespace coterie {
namespace {

constexpr int kCaDays = 3650;
constexpr int kServerDays = 397;
constexpr auto kRenewBefore = std::chrono::hours(24 * 30);
constexpr uint64_t kNameBytesMax = 256;
constexpr uint64_t kPemBytesMax = 64 * 1024;

Result<PemPair> read_pair(const std::string& certificate, const std::string& key) {
  COT_ASSIGN(const Bytes certificate_pem, os::read_file(certificate, kPemBytesMax));
  COT_ASSIGN(const Bytes key_pem, os::read_file(key, kPemBytesMax));
  return PemPair{std::string(as_text(certificate_pem)), std::string(as_text(key_pem))};
}

Status write_pair(const PemPair& pair, const std::string& certificate, const std::string& key) {
  COT_TRY(os::write_file_atomically(key, as_bytes(pair.private_key), &os::crash::tls_file));
  return os::write_file_atomically(certificate, as_bytes(pair.certificate), &os::crash::tls_file);
}

bool is_current(const std::string& certificate, WallTime now) {
  const Result<Bytes> pem = os::read_file(certificate, kPemBytesMax);
  if (!pem) return false;
  const Result<WallTime> end = certificate_not_after(std::string(as_text(*pem)));
  return end && *end > now + kRenewBefore;
}

// What a server writes is 0600 (main's umask). A directory that somebody else made, and a database of before, may be
// open.
void make_private(const std::string& directory) {
  for (const char* name : {"", "/coterie.sqlite3", "/coterie.sqlite3-wal", "/coterie.sqlite3-shm"}) {
    const std::string path = directory + name;
    const Result<bool> changed = os::make_private(path);
    if (!changed) log(LogLevel::warning, "others_may_read", {{"path", path}, {"error", changed.error().message()}});
    else if (*changed) log(LogLevel::warning, "others_could_read", {{"path", path}, {"mended", "true"}});
  }
}

}  // namespace

Result<DataDirectory> DataDirectory::open(const std::string& path, const std::string& keys) {
  const std::string keys_path = keys.empty() ? path + "/keys" : keys;
  COT_TRY(os::make_directories(keys_path));
  COT_TRY(os::make_directories(path + "/tls"));
  const std::string lock_path = path + "/lock";
  const int fd = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Error(ErrorCode::permission_denied, "cannot write in data directory " + path);
  os::File lock(fd, lock_path);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorCode::conflict, "another server runs on data directory " + path +
                                          "; stop it, or give this one another directory with --data-dir");
  }
  make_private(path);
  os::File keys_lock;
  if (!keys.empty()) {
    const std::string keys_lock_path = keys_path + "/lock";
    const int keys_fd = ::open(keys_lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    // Where this server may not write, all keys are there already, or it will say which one is not.
    if (keys_fd >= 0) keys_lock = os::File(keys_fd, keys_lock_path);
    if (keys_fd >= 0 && ::flock(keys_fd, LOCK_EX) != 0) {
      return Error(ErrorCode::unavailable, "cannot lock the keys: " + keys_lock_path);
    }
  }
  return DataDirectory(path, keys_path, (keys.empty() ? path : keys) + "/admin-token", std::move(lock),
                       std::move(keys_lock));
}

Result<std::string> DataDirectory::incarnation_before(const std::string& present) const {
  const std::string file = path("incarnation");
  const Result<Bytes> before = os::read_file(file, kNameBytesMax);
  COT_TRY(os::write_file_atomically(file, as_bytes(present), &os::crash::incarnation));
  return before ? std::string(as_text(*before)) : std::string();
}

Result<MacKey> DataDirectory::ticket_key() const { return load_or_create_mac_key(keys_ + "/ticket.key"); }

Result<std::shared_ptr<const MacKey>> DataDirectory::old_ticket_key() const {
  if (!os::exists(old_ticket_key_path())) return std::shared_ptr<const MacKey>();
  COT_ASSIGN(MacKey key, load_cipher_key(old_ticket_key_path()));  // which is as long
  return std::shared_ptr<const MacKey>(std::make_shared<MacKey>(std::move(key)));
}

Result<MacKey> DataDirectory::noise_key() const { return load_or_create_mac_key(keys_ + "/noise.key"); }

Result<std::unique_ptr<Signer>> DataDirectory::signer() const {
  return load_or_create_signer(keys_ + "/" + kSigningKeyFile, KeyAlgorithm::ed25519);
}

Result<std::vector<KeyStatement>> DataDirectory::key_statements(ByteView signing_key) const {
  COT_ASSIGN(std::vector<KeyStatement> statements, load_key_statements(keys_));
  const auto is_ours = [&](const Bytes& key) { return std::ranges::equal(key, signing_key); };
  if (statements.empty() || is_ours(statements.back().after) || is_ours(statements.back().before)) return statements;
  return Error(ErrorCode::invalid_argument,
               key_statements_path() +
                   ": its last statement neither is of signing.key nor names it: restore both from the same backup");
}

std::string DataDirectory::key_statements_path() const { return keys_ + "/" + kKeyStatementsFile; }

Result<std::string> DataDirectory::admin_token() const { return load_or_create_token(token_); }

Result<PeerFiles> DataDirectory::peer_files(const PeerConfig& config, WallTime now) const {
  if (!config.certificate_file.empty()) return PeerFiles{config.certificate_file, config.key_file, config.ca_file};
  const PeerFiles files{path("tls/peer.pem"), path("tls/peer-key.pem"), keys_ + "/peer-ca.pem"};
  const std::string ca_key = keys_ + "/peer-ca-key.pem";
  if (!os::exists(files.ca)) {
    COT_ASSIGN(const PemPair ca, make_dev_ca(now, kCaDays));
    COT_TRY(write_pair(ca, files.ca, ca_key));
  }
  COT_ASSIGN(const PemPair ca, read_pair(files.ca, ca_key));
  COT_ASSIGN(const PemPair leaf, make_peer_certificate(ca, {"localhost", "127.0.0.1", "::1"}, now, kServerDays));
  COT_TRY(write_pair(leaf, files.certificate, files.key));
  return files;
}

// With the keys, where servers share them: devices trust one authority, whichever server answers. A server that is
// alone has it in tls/.
Result<PemPair> DataDirectory::development_ca(WallTime now) const {
  const std::string own = path("tls/ca.pem"), own_key = path("tls/ca-key.pem");
  const bool is_shared = keys_ != path("keys");
  const std::string file = is_shared ? keys_ + "/device-ca.pem" : own;
  const std::string key = is_shared ? keys_ + "/device-ca-key.pem" : own_key;
  if (is_current(file, now)) return read_pair(file, key);
  // A server of before made one for itself. The first such server's becomes the fleet's: its devices know it.
  if (is_shared && !os::exists(file) && is_current(own, now) && os::exists(own_key)) {
    COT_ASSIGN(PemPair before, read_pair(own, own_key));
    const Status written = write_pair(before, file, key);
    if (!written)
      log(LogLevel::warning, "development_ca_not_shared", {{"path", file}, {"error", written.error().message()}});
    return before;
  }
  COT_ASSIGN(PemPair made, make_dev_ca(now, kCaDays));
  COT_TRY(os::remove_file(path("tls/server.pem")));  // first: one of another CA must not stay beside this one
  COT_TRY(write_pair(made, file, key));
  return made;
}

Result<TlsFiles> DataDirectory::tls_files(const TlsConfig& config, WallTime now) const {
  if (!config.certificate_file.empty()) return TlsFiles{config.certificate_file, config.key_file, {}};
  const TlsFiles files{path("tls/server.pem"), path("tls/server-key.pem"), path("tls/ca.pem")};
  COT_ASSIGN(const PemPair ca, development_ca(now));
  const Result<Bytes> told = os::read_file(files.ca, kPemBytesMax);
  if (!told || as_text(*told) != ca.certificate) {
    COT_TRY(os::remove_file(files.certificate));  // first, as above
    COT_TRY(os::write_file_atomically(files.ca, as_bytes(ca.certificate), &os::crash::tls_file));
  }
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  names.insert(names.end(), config.names.begin(), config.names.end());
  std::string wanted;
  for (const std::string& name : names) wanted += name + "\n";
  const Result<Bytes> present = os::read_file(path("tls/names"), kPemBytesMax);
  if (!is_current(files.certificate, now) || !present || as_text(*present) != wanted) {
    COT_ASSIGN(const PemPair leaf, make_server_certificate(ca, names, now, kServerDays));
    COT_TRY(write_pair(leaf, files.certificate, files.key));
    COT_TRY(os::write_file_atomically(path("tls/names"), as_bytes(wanted), &os::crash::tls_file));
  }
  return files;
}

}  // namespace coterie

#include "tools/doctor/machine.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "base/os/file.h"
#include "fl_server/app/process_limits.h"
#include "fl_server/config/server_config.h"
#include "fl_server/store/schema.h"
#include "fl_server/store/sql/postgres.h"
#include "fl_server/store/sql/sqlite.h"
#include "secure/crypto/dev_ca.h"
#include "tools/doctor/judgements.h"

namespace coterie {
namespace {

constexpr uint64_t kPemBytesMax = 1 << 20;
constexpr uint64_t kConninfoBytesMax = 16'384;

void look_at_limits(const ServerConfig& config, Findings& findings) {
  const ProcessNeeds needs = needs_of(config);
  const std::vector<Misfit> misfits = what_does_not_fit(needs, allowed_limits(needs.descriptors));
  for (const Misfit& misfit : misfits) findings.push_back(judge_misfit(misfit));
  if (misfits.empty())
    findings.push_back({Health::good, "limits", "memory and open files suffice for the settings", {}});
}

// The directory, or the nearest one above it that is there.
std::string existing(std::string path) {
  while (!os::exists(path) && path != "/" && path != ".") path = os::parent_directory(path);
  return path;
}

void look_at_disk(const std::string& data_dir, Findings& findings) {
  const std::string path = existing(data_dir);
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) == 0) {
    findings.push_back(
        judge_disk(path, uint64_t{disk.f_bavail} * disk.f_frsize, uint64_t{disk.f_blocks} * disk.f_frsize));
  }
}

void look_at_modes(const ServerConfig& config, Findings& findings) {
  const std::string keys = config.keys_dir.empty() ? config.data_dir + "/keys" : config.keys_dir;
  if (!os::exists(config.data_dir)) {
    findings.push_back(
        {Health::good, "data directory", config.data_dir + " is not there yet: the server makes it", {}});
  }
  std::vector<std::pair<std::string, std::string>> paths{{"data directory", config.data_dir}, {"keys", keys}};
  if (const auto names = os::list_directory(keys)) {
    for (const std::string& name : *names) paths.emplace_back("keys", keys + "/" + name);
  }
  for (const auto& [subject, path] : paths) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) continue;
    Finding finding = judge_mode(subject, path, found.st_mode);
    // One line says that all keys are as they should be.
    if (finding.health != Health::good || path == config.data_dir || path == keys)
      findings.push_back(std::move(finding));
  }
}

void look_at_certificate(const ServerConfig& config, WallTime now, Findings& findings) {
  const bool is_own = config.tls.certificate_file.empty();
  const std::string path = is_own ? config.data_dir + "/tls/server.pem" : config.tls.certificate_file;
  if (is_own && !os::exists(path)) {
    findings.push_back({Health::warning, "certificate",
                        "none is named: the server makes one of an authority of its own",
                        "for other machines set tls.certificate_file and tls.key_file"});
    return;
  }
  const auto end_of = [&]() -> Result<WallTime> {
    COT_ASSIGN(const Bytes pem, os::read_file(path, kPemBytesMax));
    return certificate_not_after(std::string(as_text(pem)));
  };
  findings.push_back(judge_certificate(path, end_of(), now));
  if (!is_own) return;
  findings.push_back(
      {Health::warning, "certificate", "it is of an authority of the server's own",
       "give devices elsewhere " + config.data_dir + "/tls/ca.pem, or set tls.certificate_file and tls.key_file"});
}

std::optional<bool> is_synchronized() {
  struct timex kernel {};
  const int state = ::adjtimex(&kernel);  // reads alone: no mode is set
  if (state < 0) return std::nullopt;
  return state != TIME_ERROR && (kernel.status & STA_UNSYNC) == 0;
}

Status system_error() { return Error(ErrorCode::unavailable, std::system_category().message(errno)); }

// As the server does it, and given back at once.
template <typename Address>
Status try_to_listen(int family, const Address& address) {
  const os::File socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const int yes = 1;
  if (!socket.is_open() || ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.fd(), 1) != 0) {
    return system_error();
  }
  return {};
}

Status can_listen(const ListenConfig& listen) {
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(listen.port), .sin_addr = {}, .sin_zero = {}};
  if (::inet_pton(AF_INET, listen.address.c_str(), &v4.sin_addr) == 1) return try_to_listen(AF_INET, v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(listen.port);
  if (::inet_pton(AF_INET6, listen.address.c_str(), &v6.sin6_addr) == 1) return try_to_listen(AF_INET6, v6);
  return Error(ErrorCode::invalid_argument, listen.address + " is no address of IPv4 or IPv6");
}

void look_at_ports(const ServerConfig& config, Findings& findings) {
  const auto look = [&findings](const std::string& plane, const ListenConfig& listen) {
    findings.push_back(judge_port(plane, listen.address, listen.port, can_listen(listen)));
  };
  if (config.serves_devices()) look("device plane", config.device);
  look("admin plane", config.admin);
  if (config.serving) look("serving plane", config.serving->listen);
}

Result<Database> open_shared(const StoreConfig& store) {
  COT_ASSIGN(const Bytes conninfo, os::read_file(store.conninfo_file, kConninfoBytesMax));
  PostgresSettings settings{.conninfo = std::string(as_text(conninfo)), .schema = store.schema};
  while (!settings.conninfo.empty() && settings.conninfo.back() == '\n') settings.conninfo.pop_back();
  return open_postgres(settings);
}

void look_at_database(const ServerConfig& config, Findings& findings) {
  const std::string file = config.data_dir + "/coterie.sqlite3";
  const bool is_shared = config.store.is_shared();
  if (!is_shared && !os::exists(file)) {
    findings.push_back(judge_schema(file, 0, kSchemaVersion));
    return;
  }
  const auto version = [&]() -> Result<int64_t> {
    COT_ASSIGN(Database database, is_shared ? open_shared(config.store) : open_sqlite(file));
    return schema_version(database);
  };
  findings.push_back(judge_schema(is_shared ? "the shared database" : file, version(), kSchemaVersion));
}

}  // namespace

Findings look_at_machine(const ServerConfig& config, bool is_running, WallTime now) {
  Findings findings;
  look_at_limits(config, findings);
  look_at_disk(config.data_dir, findings);
  look_at_modes(config, findings);
  look_at_certificate(config, now, findings);
  findings.push_back(judge_clock(is_synchronized()));
  look_at_database(config, findings);
  if (!is_running) look_at_ports(config, findings);
  return findings;
}

}  // namespace coterie

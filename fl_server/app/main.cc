// fl_server: the command line of the server process.
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "base/os/file.h"
#include "fl_server/app/memory_return.h"
#include "fl_server/app/server.h"
#include "fl_server/app/version.h"
#include "fl_server/json/rfc3339.h"

namespace {

using namespace coterie;

constexpr int kExitUsage = 2;
constexpr int kExitConfig = 3;
constexpr int kExitLeadLost = 75;  // EX_TEMPFAIL: start it again, and it stands by
constexpr uint64_t kConfigBytesMax = 1 << 20;

LogLevel g_level = LogLevel::info;

void write_log(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  if (level < g_level) return;
  const std::string line =
      "{\"time\":\"" + rfc3339(os::wall_now()) + "\"," + to_json_line(level, event, fields).substr(1) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: lines of threads do not mix
}

LogLevel level_named(const std::string& name) {
  for (LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    if (to_string(level) == name) return level;
  }
  return LogLevel::info;
}

// The configuration of `path` (none: defaults), or nothing after all its problems were printed.
std::optional<ServerConfig> read_config(const std::string& path) {
  if (path.empty()) return ServerConfig();
  const Result<Bytes> text = os::read_file(path, kConfigBytesMax);
  if (!text) {
    std::fprintf(stderr, "fl_server: %s\n", text.error().message().c_str());
    return std::nullopt;
  }
  Problems problems;
  ServerConfig config = server_config_from_json(as_text(*text), problems);
  if (problems.empty()) return config;
  std::fprintf(stderr, "fl_server: %s has %zu problem%s:\n", path.c_str(), problems.size(),
               problems.size() == 1 ? "" : "s");
  for (const Problem& problem : problems) {
    std::fprintf(stderr, "  %s: %s\n", problem.pointer.empty() ? "/" : problem.pointer.c_str(), problem.detail.c_str());
  }
  return std::nullopt;
}

// Each of its planes that is open, and who is asked next: of a fleet, the scheduler that leads.
void tell_where_it_is(const Server& server, const ServerConfig& config) {
  std::string text = "Coterie " + std::string(kVersion) + "\n";
  if (!server.device_url().empty()) text += "  devices  " + server.device_url() + "\n";
  text += "  admin    " + server.admin_url() + "\n  data     " + config.data_dir + "\n";
  if (!server.serving_url().empty()) text += "  models   " + server.serving_url() + "/v2\n";
  if (!server.serving_grpc().empty()) text += "  gRPC     " + server.serving_grpc() + "\n";
  if (!server.ca_file().empty()) text += "  CA       " + server.ca_file() + " (development; clients need this file)\n";
  text += "  token    " + server.admin_token_file() + "\n";
  if (!config.may_lead()) {
    text += "Next, where the scheduler runs that leads: coterie --data-dir ITS_DATA_DIR token create\n";
  } else {
    text += "Next: coterie --data-dir " + config.data_dir + " token create\n";
  }
  std::fputs(text.c_str(), stderr);
}

int run(const ServerConfig& config) {
  give_large_blocks_pages_of_their_own();
  // Every thread inherits the mask, so that only this one is told to stop.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  // At once: another server leads, or will. What was acknowledged is stored; the rest is asked for again.
  auto server = Server::start(config, [](const std::string& why) {
    log(LogLevel::error, "server_gives_up", {{"reason", why}});
    _exit(kExitLeadLost);
  });
  if (!server) {
    std::fprintf(stderr, "fl_server: %s\n", server.error().message().c_str());
    return 1;
  }
  tell_where_it_is(**server, config);
  int received = 0;
  while (sigwait(&signals, &received) != 0 || received == SIGHUP) (*server)->rotate_files();
  (*server)->stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::umask(S_IRWXG | S_IRWXO);  // also for what libraries create: the database has tokens' hashes and devices' keys
  CLI::App app{
      "fl_server: runs federated rounds over a population of devices.\n\n"
      "Examples:\n"
      "  fl_server --data-dir ./data                  all in one process, on two ports\n"
      "  fl_server --config /etc/coterie/server.json  settings from a file\n"
      "  fl_server --config server.json --check       only say what is wrong with it\n"
      "  fl_server --config f.json --role scheduler   of a fleet: may lead\n"
      "  fl_server --config f.json --role server      of a fleet: talks to devices\n"
      "  fl_server --config f.json --role serving     of a fleet: answers with models\n",
      "fl_server"};
  std::string config_path, data_dir, role, device_address;
  int device_port = -1, admin_port = -1;
  std::optional<uint64_t> draw_seed;
  bool check = false;
  app.add_option("--config", config_path, "JSON configuration file");
  app.add_option("--data-dir", data_dir, "where keys, database and models are kept\n(default coterie-data)");
  app.add_option("--role", role,
                 "all: everything in this process (default);\nof a fleet, which shares a database,\nserver: talks to "
                 "devices, scheduler: may lead,\nserving: answers with models")
      ->type_name("ROLE")
      ->check(CLI::IsMember({"all", "server", "scheduler", "serving"}));
  app.add_option("--device-address", device_address, "address devices connect to (default 0.0.0.0)");
  app.add_option("--device-port", device_port, "port for devices, 0 to let the system choose\n(default 8443)")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535));
  app.add_option("--admin-port", admin_port,
                 "port for operators on 127.0.0.1, 0 to let the\nsystem choose (default 8444)")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535));
  app.add_option("--development-draw-seed", draw_seed,
                 "draw who trains by this seed, so that a run on\none machine can be repeated; needs\n"
                 "--device-address 127.0.0.1");
  app.add_flag("--check", check, "check the configuration and exit");
  app.set_version_flag("--version", kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kExitUsage;
  }
  std::optional<ServerConfig> config = read_config(config_path);
  if (!config) return kExitConfig;
  if (!data_dir.empty()) config->data_dir = data_dir;
  if (!role.empty()) config->role = *server_role_from_name(role);
  if (config->role != ServerRole::all && !config->store.is_shared()) {
    std::fprintf(
        stderr,
        "fl_server: --role %s is for a fleet, whose servers share a database: set store.engine to \"postgres\" "
        "in the configuration (docs/operating/fleet.md)\n",
        role.c_str());
    return kExitUsage;
  }
  if (config->role == ServerRole::serving && !config->serving) {
    std::fputs("fl_server: --role serving needs \"serving\" in the configuration (docs/SERVING.md)\n", stderr);
    return kExitUsage;
  }
  if (!device_address.empty()) config->device.address = device_address;
  if (device_port >= 0) config->device.port = static_cast<uint16_t>(device_port);
  if (admin_port >= 0) config->admin.port = static_cast<uint16_t>(admin_port);
  config->draw_seed = draw_seed;
  if (const Status usable = check_draw_seed(*config); !usable) {
    std::fprintf(stderr, "fl_server: %s\n", usable.error().message().c_str());
    return kExitUsage;
  }
  const char* crash_point = std::getenv("COTERIE_CRASH_POINT");
  if (const Status armed = os::arm_crash_point(crash_point == nullptr ? "" : crash_point); !armed) {
    std::fprintf(stderr, "fl_server: COTERIE_CRASH_POINT: %s\n", armed.error().message().c_str());
    return kExitConfig;
  }
  if (check) {
    std::fprintf(stderr, "fl_server: the configuration is valid\n");
    return 0;
  }
  g_level = level_named(config->log_level);
  set_log_sink(&write_log);
  if (draw_seed) log(LogLevel::warning, "draws_can_be_foretold", {{"option", "--development-draw-seed"}});
  return run(*config);
}

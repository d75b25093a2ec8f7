#include "tests/integration/support/server_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/os/file.h"
#include "tests/support/paths.h"

namespace coterie::integration {
namespace {

constexpr Millis kStartMax{60'000};

Status write_config(const ServerOptions& options, const std::string& path) {
  COT_TRY(os::make_directories(options.data_dir));
  std::string text = "{\"data_dir\": " + nlohmann::json(options.data_dir).dump() + ", \"device\": {}, \"admin\": {}";
  if (!options.config.empty()) text += ", " + options.config;
  nlohmann::json config = nlohmann::json::parse(text + "}", nullptr, false);
  if (config.is_discarded()) return Error(ErrorCode::invalid_argument, "test: bad config " + text);
  // Tests that are not about overload run on machines that are busy with others, with few devices that ask often.
  if (!config.contains("overload")) {
    config["overload"] = {{"queue_delay_ms", 10'000}, {"burst_ms", 60'000}, {"device_requests_per_second", 0}};
  }
  // A member given by the test replaces the whole object.
  config["device"]["address"] = config["admin"]["address"] = options.address;
  if (options.address != "127.0.0.1") config["tls"]["names"] = {options.address};
  config["device"]["port"] = options.device_port;
  config["admin"]["port"] = options.admin_port;
  return os::write_file_atomically(path, as_bytes(config.dump(2)));
}

// This process's variables and `more` ("NAME=value"), which come first and so win over those of the same name.
std::vector<char*> environment_with(const std::vector<std::string>& more) {
  std::vector<char*> all;
  for (const std::string& variable : more) all.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) all.push_back(*variable);
  all.push_back(nullptr);
  return all;
}

// In the child, which allocates nothing: a thread that was forked away may have held the allocator's lock.
bool confine(const ServerOptions& options) {
  if (options.address_space_bytes != 0) {
    const rlimit limit{options.address_space_bytes, options.address_space_bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return false;
  }
  if (options.group_file.empty()) return true;
  const int group = ::open(options.group_file.c_str(), O_WRONLY | O_CLOEXEC);
  const bool has_joined = group >= 0 && ::write(group, "0", 1) == 1;
  if (group >= 0) ::close(group);
  return has_joined;
}

}  // namespace

Result<std::unique_ptr<ServerProcess>> ServerProcess::start(const ServerOptions& options) {
  const std::string config_path = options.data_dir + ".config.json";
  COT_TRY(write_config(options, config_path));
  int pipe_fds[2];
  if (::pipe2(pipe_fds, O_CLOEXEC) != 0) return Error(ErrorCode::internal, "pipe failed");
  std::unique_ptr<ServerProcess> server(new ServerProcess());
  const std::string program = test::bin_dir() + "/fl_server";
  const int parent = getpid();
  const int home =
      options.network_namespace.empty() ? -1 : ::open(options.network_namespace.c_str(), O_RDONLY | O_CLOEXEC);
  if (home < 0 && !options.network_namespace.empty())
    return Error(ErrorCode::not_found, "test: no network namespace " + options.network_namespace);
  const std::vector<char*> environment = environment_with(options.environment);
  server->pid_ = ::fork();
  if (server->pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that dies leaves no server behind
    if (getppid() != parent) _exit(127);
    ::dup2(pipe_fds[1], STDERR_FILENO);
    ::dup2(pipe_fds[1], STDOUT_FILENO);
    if (home >= 0 && ::setns(home, CLONE_NEWNET) != 0) _exit(127);
    if (!confine(options)) _exit(127);
    ::execle(program.c_str(), "fl_server", "--config", config_path.c_str(), static_cast<char*>(nullptr),
             environment.data());
    _exit(127);
  }
  ::close(pipe_fds[1]);
  if (home >= 0) ::close(home);
  server->reader_ = std::thread([raw = server.get(), fd = pipe_fds[0]] { raw->read_log(fd); });
  if (!server->wait_for_log("\"server_started\"", kStartMax)) {
    return Error(ErrorCode::unavailable, "fl_server did not start:\n" + server->log());
  }
  COT_TRY(server->read_endpoints(options.data_dir));
  return server;
}

Status ServerProcess::read_endpoints(const std::string& data_dir) {
  COT_ASSIGN(const Bytes text, os::read_file(data_dir + "/endpoints.json", 1 << 16));
  const nlohmann::json endpoints = nlohmann::json::parse(as_text(text));
  device_url_ = endpoints["device_url"];
  admin_url_ = endpoints["admin_url"];
  COT_ASSIGN(const Bytes ca, os::read_file(endpoints["ca_file"], 1 << 16));
  ca_pem_ = std::string(as_text(ca));
  COT_ASSIGN(const Bytes token, os::read_file(endpoints["admin_token_file"], 1 << 16));
  admin_token_ = std::string(as_text(token));
  while (!admin_token_.empty() && admin_token_.back() == '\n') admin_token_.pop_back();
  return {};
}

uint16_t ServerProcess::device_port() const {
  return static_cast<uint16_t>(std::stoi(device_url_.substr(device_url_.rfind(':') + 1)));
}

uint16_t ServerProcess::admin_port() const {
  return static_cast<uint16_t>(std::stoi(admin_url_.substr(admin_url_.rfind(':') + 1)));
}

ServerProcess::~ServerProcess() {
  kill();
  if (reader_.joinable()) reader_.join();
}

void ServerProcess::read_log(int fd) {
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    const std::lock_guard lock(mutex_);
    if (count > 0) log_.append(buffer, static_cast<size_t>(count));
    else log_ended_ = true;
    changed_.notify_all();
    if (count <= 0) break;
  }
  ::close(fd);
}

bool ServerProcess::wait_for_log(const std::string& text, Millis patience) {
  std::unique_lock lock(mutex_);
  const auto seen = [&] { return log_.find(text) != std::string::npos; };
  changed_.wait_for(lock, patience, [&] { return seen() || log_ended_; });
  return seen();
}

bool ServerProcess::ends_within(Millis patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return log_ended_; });
}

std::string ServerProcess::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

void ServerProcess::signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

void ServerProcess::kill() {
  signal(SIGKILL);
  wait();
}

int ServerProcess::wait() {
  if (pid_ <= 0) return -1;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

uint64_t ServerProcess::rss_bytes() const { return status_kib("VmRSS") * 1024; }

uint64_t ServerProcess::peak_rss_bytes() const { return status_kib("VmHWM") * 1024; }

uint64_t ServerProcess::status_kib(const std::string& field) const {
  uint64_t kib = 0;
  if (std::FILE* file = std::fopen(("/proc/" + std::to_string(pid_) + "/status").c_str(), "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::string_view(line).starts_with(field + ":")) kib = std::strtoull(line + field.size() + 1, nullptr, 10);
    }
    std::fclose(file);
  }
  return kib;
}

void ServerProcess::reset_peak_rss() const {
  if (std::FILE* file = std::fopen(("/proc/" + std::to_string(pid_) + "/clear_refs").c_str(), "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

double ServerProcess::cpu_seconds() const {
  unsigned long user = 0, system = 0;
  if (std::FILE* file = std::fopen(("/proc/" + std::to_string(pid_) + "/stat").c_str(), "r")) {
    if (std::fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
      user = 0;
    std::fclose(file);
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace coterie::integration

#include "tests/support/postgres_server.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace coterie::test {
namespace {

constexpr Millis kStartMax{60'000};
// Or, of one that follows another, "... to accept read-only connections".
constexpr const char* kReady = "database system is ready to accept ";

// The programs of the newest version; empty: it is not installed.
std::string program_directory() {
  std::string newest;
  std::error_code ignored;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    const std::string bin = version.path() / "bin";
    if (std::filesystem::exists(bin + "/initdb", ignored) && bin > newest) newest = bin;
  }
  return newest;
}

const passwd* other_user() {
  if (::geteuid() != 0) return nullptr;
  const passwd* user = ::getpwnam("postgres");
  return user != nullptr ? user : ::getpwnam("nobody");
}

// What execv takes; the words outlive it.
std::vector<char*> arguments_of(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

// In the child: never returns. It allocates nothing: a thread that was forked away may have held the allocator's lock.
[[noreturn]] void become(const passwd* user, char* const* arguments, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // a test that dies leaves no server behind
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0))
    _exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // forgotten with the old user
  ::execv(arguments[0], arguments);
  _exit(127);
}

}  // namespace

bool PostgresServer::is_installed() { return !program_directory().empty(); }

Result<std::unique_ptr<PostgresServer>> PostgresServer::start() { return start(Durable::no); }

Result<std::unique_ptr<PostgresServer>> PostgresServer::start_durable() { return start(Durable::yes); }

Result<std::unique_ptr<PostgresServer>> PostgresServer::start(Durable durable) {
  std::unique_ptr<PostgresServer> server(new PostgresServer(durable));
  COT_TRY(server->own_directory());
  COT_TRY(server->run({"initdb", "-D", server->directory_ / "data", "-A", "trust", "-U", "coterie", "--no-sync",
                       "--locale=C", "-E", "UTF8"},
                      "initdb.log"));
  COT_TRY(server->launch());
  return server;
}

Status PostgresServer::own_directory() {
  const std::string directory = directory_.path();
  if (const passwd* user = other_user();
      user != nullptr && ::chown(directory.c_str(), user->pw_uid, user->pw_gid) != 0) {
    return Error(ErrorCode::internal, "test: cannot give " + directory + " away");
  }
  conninfo_ = "host=" + directory + " user=coterie dbname=postgres";
  return {};
}

Status PostgresServer::run(const std::vector<std::string>& words, const std::string& log) {
  const std::string file = directory_ / log;
  const int output = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  std::vector<std::string> program = words;
  program[0] = program_directory() + "/" + program[0];
  const std::vector<char*> arguments = arguments_of(program);
  const passwd* user = other_user();
  const int child = ::fork();
  if (child == 0) become(user, arguments.data(), output);
  ::close(output);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status == 0) return {};
  std::ifstream said(file);
  const std::string text((std::istreambuf_iterator<char>(said)), std::istreambuf_iterator<char>());
  return Error(ErrorCode::internal, "test: " + words[0] + " failed: " + text);
}

Result<PostgresServer*> PostgresServer::shared() {
  static const Result<std::unique_ptr<PostgresServer>> server = start();
  if (!server) return server.error();
  return server->get();
}

Status PostgresServer::launch() {
  int pipe_fds[2];
  if (::pipe2(pipe_fds, O_CLOEXEC) != 0) return Error(ErrorCode::internal, "pipe failed");
  log_.clear();
  log_ended_ = false;
  std::vector<std::string> words = {program_directory() + "/postgres", "-D", directory_ / "data", "-k",
                                    directory_.path()};
  const auto set = [&](std::initializer_list<const char*> settings) {
    for (const char* setting : settings) words.insert(words.end(), {"-c", setting});
  };
  set({"listen_addresses=", "max_connections=200"});
  if (durable_ == Durable::no) {
    set({"fsync=off", "full_page_writes=off", "shared_buffers=16MB", "deadlock_timeout=100ms", "autovacuum=off"});
  }
  const std::vector<char*> arguments = arguments_of(words);
  const passwd* user = other_user();
  pid_ = ::fork();
  if (pid_ == 0) become(user, arguments.data(), pipe_fds[1]);
  ::close(pipe_fds[1]);
  reader_ = std::thread([this, fd = pipe_fds[0]] { read_log(fd); });
  std::unique_lock lock(mutex_);
  const auto is_ready = [this] { return log_.find(kReady) != std::string::npos; };
  changed_.wait_for(lock, kStartMax, [&] { return is_ready() || log_ended_; });
  if (is_ready()) return {};
  return Error(ErrorCode::unavailable, "test: PostgreSQL did not start:\n" + log_);
}

void PostgresServer::read_log(int fd) {
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

std::string PostgresServer::log() {
  const std::lock_guard lock(mutex_);
  return log_;
}

PostgresServer::~PostgresServer() { crash(); }

std::string PostgresServer::conninfo_at(uint16_t port) {
  return "host=127.0.0.1 port=" + std::to_string(port) +
         " sslmode=disable gssencmode=disable user=coterie dbname=postgres";
}

std::string PostgresServer::fresh_schema() { return "test_" + std::to_string(++schemas_); }

void PostgresServer::crash() {
  if (pid_ > 0) {
    go_on();
    ::kill(pid_, SIGQUIT);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
  if (reader_.joinable()) reader_.join();
}

Status PostgresServer::restart() {
  crash();
  return launch();
}

// The postmaster and its children, which are in groups of their own.
void PostgresServer::signal_all(int signal) {
  if (pid_ <= 0) return;
  std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
  for (int child = 0; children >> child;) ::kill(child, signal);
  ::kill(pid_, signal);
}

void PostgresServer::stall() { signal_all(SIGSTOP); }
void PostgresServer::go_on() { signal_all(SIGCONT); }

}  // namespace coterie::test

#include "tools/serve/started_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace coterie {
namespace {

// This program, also where its file was replaced meanwhile: processes of one master are of one version.
constexpr const char* kSelf = "/proc/self/exe";

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> arguments;
  for (size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    if (text.find('\0', at) == std::string::npos) break;
    arguments.push_back(text.substr(at, text.find('\0', at) - at));
  }
  return arguments;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string ProcessEnd::words() const {
  if (signal != 0) return "was killed by signal " + std::to_string(signal);
  return "ended with exit code " + std::to_string(exit_code);
}

Result<StartedProcess> StartedProcess::start(WorkerPlace place) {
  COT_ASSIGN(auto ends, WorkerLink::make());
  place.link = ends.second.fd();
  std::vector<std::string> arguments = own_arguments();
  std::vector<std::string> environment{std::string(WorkerPlace::kVariable) + "=" + place.text()};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  // Onto itself: open behind exec, in this process alone.
  for (const int fd : {place.link, place.rest_socket, place.board}) ::posix_spawn_file_actions_adddup2(&files, fd, fd);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, kSelf, &files, &attributes, pointers_to(arguments).data(), pointers_to(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return Error(ErrorCode::unavailable, std::string("cannot start a process: ") + std::strerror(error));
  return StartedProcess(pid, std::move(ends.first));
}

StartedProcess::StartedProcess(StartedProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), link_(std::move(other.link_)) {}

StartedProcess::~StartedProcess() {
  if (pid_ < 0) return;
  signal(SIGKILL);
  (void)reap();
}

void StartedProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

ProcessEnd StartedProcess::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

}  // namespace coterie

#include "tools/demo/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "tools/cli/interrupt.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{10};
constexpr uint64_t kTailBytes = 8 * 1024;
constexpr int kExecFailed = 127;

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Our environment with `more` in front: of two settings of one name the first counts.
std::vector<char*> environment_with(const std::vector<std::string>& more) {
  std::vector<char*> pointers = pointers_to(more);
  pointers.pop_back();
  for (char** entry = environ; *entry != nullptr; ++entry) pointers.push_back(*entry);
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* command, char* const* environment, int log_fd, int null_fd, int report_fd,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExecFailed);  // the parent died before we asked to die with it
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  ::dup2(null_fd, STDIN_FILENO);
  ::dup2(log_fd, STDOUT_FILENO);
  ::dup2(log_fd, STDERR_FILENO);
  ::execve(command[0], command, environment);
  const int error = errno;
  if (::write(report_fd, &error, sizeof error) < 0) {
    // The parent sees our exit code.
  }
  ::_exit(kExecFailed);
}

}  // namespace

Result<Child> Child::start(const ChildSpec& spec) {
  COT_ASSIGN(const os::File log, os::File::open_append(spec.log_file));
  COT_ASSIGN(const os::File null, os::File::open_read("/dev/null"));
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return Error(ErrorCode::unavailable, std::string("pipe: ") + std::strerror(errno));
  const os::File report_end(report[0], "pipe");
  os::File report_begin(report[1], "pipe");
  const std::vector<char*> command = pointers_to(spec.command);
  const std::vector<char*> environment = environment_with(spec.environment);
  const pid_t parent = ::getpid();
  Child child;
  child.name_ = spec.name;
  child.log_file_ = spec.log_file;
  child.pid_ = ::fork();
  if (child.pid_ == 0) become(command.data(), environment.data(), log.fd(), null.fd(), report_begin.fd(), parent);
  if (child.pid_ < 0) return Error(ErrorCode::unavailable, "cannot start " + spec.name + ": " + std::strerror(errno));
  COT_TRY(report_begin.close());
  int error = 0;
  ssize_t count = 0;
  do {
    count = ::read(report_end.fd(), &error, sizeof error);  // ends when the child has become the program
  } while (count < 0 && errno == EINTR);
  if (count != sizeof error) return child;
  return Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::permission_denied,
               "cannot run " + spec.command[0] + ": " + std::strerror(error));
}

Child::Child(Child&& other) noexcept
    : name_(std::move(other.name_)),
      log_file_(std::move(other.log_file_)),
      pid_(std::exchange(other.pid_, -1)),
      exit_code_(other.exit_code_),
      signal_(other.signal_) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(log_file_, other.log_file_);
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  std::swap(signal_, other.signal_);
  return *this;
}

Child::~Child() {
  signal(SIGKILL);
  reap();
}

void Child::take_status(int status) {
  pid_ = -1;
  if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
  else exit_code_ = WEXITSTATUS(status);
}

bool Child::has_ended() {
  if (pid_ < 0) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) take_status(status);
  return pid_ < 0;
}

void Child::reap() {
  while (pid_ >= 0) {
    int status = 0;
    if (::waitpid(pid_, &status, 0) == pid_) take_status(status);
    else if (errno != EINTR) pid_ = -1;
  }
}

void Child::signal(int number) {
  if (pid_ > 0) ::kill(pid_, number);
}

std::string Child::obituary() const {
  std::string text = name_ + (signal_ != 0 ? " was killed by signal " + std::to_string(signal_)
                                           : " ended with exit code " + std::to_string(exit_code_));
  const std::string words = last_words(log_file_);
  if (!words.empty()) text += ": " + words;
  return text + " (log: " + log_file_ + ")";
}

void stop_children(const std::vector<Child*>& children, Millis grace) {
  for (Child* child : children) {
    if (!child->has_ended()) child->signal(SIGTERM);
  }
  const Instant until = os::monotonic_now() + grace;
  const int asked = Interrupt::count();
  const auto all_ended = [&] { return std::ranges::all_of(children, [](Child* child) { return child->has_ended(); }); };
  while (!all_ended() && os::monotonic_now() < until && Interrupt::count() == asked)
    Interrupt::wait_for_next(kLookEvery);
  for (Child* child : children) {
    if (!child->has_ended()) child->signal(SIGKILL);
    child->reap();
  }
}

std::string words_of_log_line(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  for (const char* key : {"error", "event"}) {
    if (!json.is_object()) break;
    const auto found = json.find(key);
    if (found != json.end() && found->is_string() && !found->get<std::string>().empty())
      return found->get<std::string>();
  }
  return line;
}

std::string last_words(const std::string& log_file) {
  const Result<os::File> file = os::File::open_read(log_file);
  if (!file) return {};
  const Result<uint64_t> size = file->size();
  if (!size) return {};
  Bytes tail(std::min(*size, kTailBytes));
  if (!file->read_exact_at(*size - tail.size(), tail)) return {};
  std::string text(as_text(tail));
  text.erase(text.find_last_not_of(" \r\n") + 1);
  const size_t newline = text.rfind('\n');
  return words_of_log_line(newline == text.npos ? text : text.substr(newline + 1));
}

}  // namespace coterie

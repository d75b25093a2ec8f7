#include "tests/integration/demo/demo_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>

#include "base/os/file.h"
#include "tests/support/paths.h"

namespace coterie::integration {

DemoProcess::DemoProcess(const std::string& directory, const std::vector<std::string>& arguments,
                         const DemoSurroundings& around) {
  // Beside the directory: what a demo leaves in it is what a test looks at.
  static int count = 0;
  output_path_ = directory + ".stdout." + std::to_string(++count);
  int ends[2];
  COT_ASSERT(::pipe2(ends, O_CLOEXEC) == 0);
  errors_fd_ = ends[0];
  std::vector<std::string> words = {test::bin_dir() + "/coterie"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int output = ::open(output_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const std::string& space = around.network_namespace;
    const int network = space.empty() ? -1 : ::open(space.c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_there = space.empty() || ::setns(network, CLONE_NEWNET) == 0;
    const int read = ::open(around.input.c_str(), O_RDONLY);
    const bool is_set_up =
        ::getppid() == parent && output >= 0 && read >= 0 && is_there && ::chdir(directory.c_str()) == 0;
    ::dup2(read, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    if (is_set_up) ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
}

DemoProcess::~DemoProcess() {
  signal(SIGKILL);
  wait();
  ::close(errors_fd_);
  (void)os::remove_file(output_path_);
}

bool DemoProcess::read_more() {
  char buffer[4096];
  const ssize_t count = ::read(errors_fd_, buffer, sizeof buffer);
  if (count > 0) errors_.append(buffer, static_cast<size_t>(count));
  return count > 0;
}

bool DemoProcess::wait_for(const std::string& text) {
  while (errors_.find(text) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

bool DemoProcess::wait_for_path(const std::string& path) const {
  while (!os::exists(path)) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0)
      return false;
    ::sched_yield();
  }
  return true;
}

void DemoProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int DemoProcess::wait() {
  if (pid_ <= 0) return -1;
  while (read_more()) {
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string DemoProcess::output() const {
  const Result<Bytes> bytes = os::read_file(output_path_, 1 << 20);
  return bytes ? std::string(as_text(*bytes)) : std::string();
}

std::vector<int> processes_with(const std::string& text) {
  std::vector<int> found;
  const Result<std::vector<std::string>> names = os::list_directory("/proc");
  for (const std::string& name : *names) {
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == ::getpid()) continue;
    const int fd = ::open(("/proc/" + name + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC);
    char line[8192];
    const ssize_t size = fd < 0 ? 0 : ::read(fd, line, sizeof line);
    if (fd >= 0) ::close(fd);
    if (size > 0 && std::string_view(line, static_cast<size_t>(size)).find(text) != std::string_view::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

std::vector<std::string> DemoTest::small(const std::vector<std::string>& more) const {
  std::vector<std::string> words = {"demo",    "--json", "--devices",  "3",    "--rounds", "3",
                                    "--model", "mlp",    "--security", "none", "--out",    run()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<std::string> DemoTest::names_in(const std::string& path) const {
  const Result<std::vector<std::string>> names = os::list_directory(path);
  return names ? *names : std::vector<std::string>{"<" + names.error().message() + ">"};
}

}  // namespace coterie::integration

// A collector of traces in a process of its own: tests/doubles/otlp_collector.py.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/assert.h"
#include "tests/support/paths.h"

namespace coterie::test {

class OtlpCollectorDouble {
 public:
  OtlpCollectorDouble() {
    int in[2], out[2];
    COT_ASSERT(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
    std::vector<std::string> words = {"python3", "-B", source_dir() + "/tests/doubles/otlp_collector.py"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    COT_ASSERT(::posix_spawnp(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_child_ = in[1];
    from_child_ = out[0];
    port_ = line();
    COT_ASSERT(!port_.empty());  // else it did not start; it says why on standard error
  }
  ~OtlpCollectorDouble() {
    ::close(to_child_);  // the end of its standard input ends it
    ::close(from_child_);
    ::waitpid(pid_, nullptr, 0);
  }
  OtlpCollectorDouble(const OtlpCollectorDouble&) = delete;
  OtlpCollectorDouble& operator=(const OtlpCollectorDouble&) = delete;

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + port_ + path; }
  // What was POSTed next; waits for it.
  nlohmann::json next() { return nlohmann::json::parse(line()); }

 private:
  std::string line() {
    std::string text;
    char c = 0;
    while (::read(from_child_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }

  std::string port_;
  pid_t pid_ = -1;
  int to_child_ = -1, from_child_ = -1;
};

}  // namespace coterie::test

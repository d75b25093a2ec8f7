// A double in a process of its own: a program that prints its port on a line of standard output and serves until
// standard input ends.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/assert.h"

namespace coterie::test {

class ProcessDouble {
 public:
  // `words`: the program and its arguments. If it does not start, it says why on standard error, and this asserts.
  explicit ProcessDouble(std::vector<std::string> words) {
    int in[2], out[2];
    COT_ASSERT(::pipe2(in, O_CLOEXEC) == 0 && ::pipe2(out, O_CLOEXEC) == 0);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    COT_ASSERT(::posix_spawnp(&pid_, words[0].c_str(), &actions, nullptr, pointers.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_child_ = in[1];
    from_child_ = out[0];
    port_ = line();
    COT_ASSERT(!port_.empty());
  }
  ~ProcessDouble() {
    ::close(to_child_);  // the end of its standard input ends it
    ::close(from_child_);
    ::waitpid(pid_, nullptr, 0);
  }
  ProcessDouble(const ProcessDouble&) = delete;
  ProcessDouble& operator=(const ProcessDouble&) = delete;

  const std::string& port() const { return port_; }
  // What it prints next; waits for it. Empty: it has ended.
  std::string line() {
    std::string text;
    char c = 0;
    while (::read(from_child_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }

 private:
  std::string port_;
  pid_t pid_ = -1;
  int to_child_ = -1, from_child_ = -1;
};

}  // namespace coterie::test

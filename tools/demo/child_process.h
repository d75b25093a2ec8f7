// Child: a process of ours, which never outlives us.
//
// It is in a process group of its own, so that a Ctrl-C on the terminal reaches us alone and we end it in good order;
// if we die, however we die, the kernel kills it (PR_SET_PDEATHSIG). Its output goes to a log file. Not thread-safe;
// one thread (the one that started it) owns it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct ChildSpec {
  std::string name;                      // for messages: "the server", "device 7"
  std::vector<std::string> command;      // path of the program, then its arguments
  std::vector<std::string> environment;  // "NAME=value", beside ours
  std::string log_file;                  // standard output and error are appended
};

class Child {
 public:
  // Errors: unavailable (fork), not_found and the like (the program cannot be run).
  static Result<Child> start(const ChildSpec& spec);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // kills and reaps

  const std::string& name() const { return name_; }
  const std::string& log_file() const { return log_file_; }
  int pid() const { return pid_; }

  // Looks whether it has ended, without waiting; reaps it.
  bool has_ended();
  // Precondition of the rest but signal() and reap(): has_ended().
  bool was_killed_by(int number) const { return signal_ == number; }
  bool succeeded() const { return signal_ == 0 && exit_code_ == 0; }
  // "ended with exit code 3", "was killed by signal 9"; and its last line of log, if there is one, and where the log
  // is.
  std::string obituary() const;

  void signal(int number);
  void reap();  // waits for its end

 private:
  Child() = default;
  void take_status(int status);

  std::string name_;
  std::string log_file_;
  int pid_ = -1;  // -1: never started or reaped
  int exit_code_ = 0;
  int signal_ = 0;
};

// Asks all to end (SIGTERM), gives them `grace`, kills those that are left, reaps every one. A further Ctrl-C ends the
// grace.
void stop_children(const std::vector<Child*>& children, Millis grace);

// The last line of a log file that says something: of a JSON line its "error" (or "event"), else the line itself.
std::string last_words(const std::string& log_file);
std::string words_of_log_line(const std::string& line);

}  // namespace coterie

// StartedProcess: this program once more, with the same arguments, as one of those that serve.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/serve/serving_worker.h"
#include "tools/serve/worker_link.h"

namespace coterie {

// How a process ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;             // that killed it; 0: none did
  std::string words() const;  // "ended with exit code 2", "was killed by signal 9"
};

class StartedProcess {
 public:
  // The files of `place` stay the caller's, and the process inherits them; its link is made here.
  // Errors: unavailable (the system starts no further process).
  static Result<StartedProcess> start(WorkerPlace place);
  StartedProcess(StartedProcess&& other) noexcept;
  StartedProcess& operator=(StartedProcess&&) = delete;
  ~StartedProcess();  // kills and reaps

  pid_t pid() const { return pid_; }
  const WorkerLink& link() const { return link_; }
  void signal(int number) const;
  // Waits for its end, which has come, or comes at once, where the link has ended.
  ProcessEnd reap();

 private:
  StartedProcess(pid_t pid, WorkerLink link) : pid_(pid), link_(std::move(link)) {}

  pid_t pid_;  // -1: reaped
  WorkerLink link_;
};

}  // namespace coterie

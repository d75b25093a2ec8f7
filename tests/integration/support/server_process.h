// ServerProcess: a real fl_server in a child process, on a directory of its own and ports the system chose.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace coterie::integration {

struct ServerOptions {
  std::string data_dir;
  // Members merged into the configuration file, as JSON text without braces: "\"ingest\": {...}".
  std::string config;
  // The ports of an earlier run, so that its devices find the server again; 0: the system chooses.
  uint16_t device_port = 0;
  uint16_t admin_port = 0;
  // "NAME=value", beside what this process has.
  std::vector<std::string> environment = {};
  // Where it listens, and the file of the network namespace it lives in; empty: this process's.
  std::string address = "127.0.0.1";
  std::string network_namespace = {};
  // As `ulimit -v` sets it, and the file of a control group that takes processes; 0 and empty: none of its own.
  uint64_t address_space_bytes = 0;
  std::string group_file = {};
};

class ServerProcess {
 public:
  // Starts the server and waits until it says that it is up; the error holds what it said instead.
  static Result<std::unique_ptr<ServerProcess>> start(const ServerOptions& options);
  ~ServerProcess();  // kills it

  const std::string& device_url() const { return device_url_; }
  const std::string& admin_url() const { return admin_url_; }
  const std::string& ca_pem() const { return ca_pem_; }
  const std::string& admin_token() const { return admin_token_; }
  uint16_t device_port() const;
  uint16_t admin_port() const;
  int pid() const { return pid_; }

  void kill();  // SIGKILL, and reaps
  void signal(int number);
  int wait();  // for its end; the exit status as the shell tells it
  // Whether it ends within `patience`, whoever ends it; wait() then reaps it.
  bool ends_within(Millis patience);
  // Waits until a log line contains `text`, at most `patience`.
  bool wait_for_log(const std::string& text, Millis patience);
  std::string log() const;

  // Resident memory now and at its peak so far, and CPU time used, of the running process.
  uint64_t rss_bytes() const;
  uint64_t peak_rss_bytes() const;
  double cpu_seconds() const;
  void reset_peak_rss() const;

 private:
  ServerProcess() = default;
  Status read_endpoints(const std::string& data_dir);
  void read_log(int fd);
  uint64_t status_kib(const std::string& field) const;  // of /proc/PID/status; 0 if there is none

  int pid_ = -1;
  std::string device_url_, admin_url_, ca_pem_, admin_token_;
  std::thread reader_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string log_;
  bool log_ended_ = false;
};

}  // namespace coterie::integration

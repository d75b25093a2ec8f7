// RunFolder: where a demo puts everything, and what is left of it at the end.
//
//   model.cotf held-out.cotf metrics.csv chart.svg chart.html summary.json job.json    the results
//   ledger.json            likewise, with noise
//   server/                the server's data directory
//   devices/01/ ...        a device's data.cotf and its state/
//   logs/                  server.log, device-01.log, ...
//
// finished: results stay, the rest goes (unless it is to be kept); failed: the logs stay, too, for whoever
// wants to know why; interrupted: nothing stays. Files are written atomically: never half of one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

// The results that say what a run was and what came of it: for whoever keeps runs elsewhere.
inline constexpr const char* kKeptResults[] = {"summary.json", "metrics.csv", "chart.svg", "model.cotf"};

class RunFolder {
 public:
  // Creates `path`, which must be empty if it exists (conflict).
  static Result<RunFolder> create(const std::string& path, bool keeps_everything);
  // Creates runs/demo-20261121-063000, by local time; with -2, -3 ... behind it if that is somebody's.
  static Result<RunFolder> create_default(bool keeps_everything);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder() { interrupted(); }

  // The first of these decides.
  void finished();
  void failed();
  void interrupted();

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string server_dir() const { return path("server"); }
  std::string device_dir(uint32_t device) const;  // counted from 1
  std::string log_file(const std::string& name) const { return path("logs/" + name + ".log"); }

  Status write(const std::string& name, ByteView bytes) const;

 private:
  RunFolder(std::string path, std::string created, bool keeps_everything)
      : path_(std::move(path)), created_(std::move(created)), keeps_everything_(keeps_everything) {}
  void remove_work() const;

  std::string path_;
  std::string created_;  // the topmost directory that was not there before; empty if all were
  bool keeps_everything_;
  bool settled_ = false;
};

// "01", "02" ... "100": at least two digits.
std::string device_label(uint32_t device);

}  // namespace coterie

// What a reference device is like, from a file that somebody writes: an app asks its platform. One condition a line,
// with `=` between name and value:
//
//   idle=yes
//   charging=no
//   unmetered=yes
//   foreground=unknown
//   battery_percent=80
//   thermal=nominal
//   free_memory=2G
//
// What has no line is unknown. Blank lines and those that begin with # say nothing.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "coterie.h"

namespace coterie {

// invalid_argument, with the line.
Result<coterie_conditions> parse_conditions(std::string_view text);

// Tells a client what the file says, now and whenever it has changed, by a thread that looks once a second. A file
// that is gone or is not understood says nothing of the device: all is unknown; and a line of the log says why.
class ConditionsWatch {
 public:
  // The client outlives it. An empty path: nothing is told.
  ConditionsWatch(std::string path, coterie_client* client);
  ~ConditionsWatch();
  ConditionsWatch(const ConditionsWatch&) = delete;
  ConditionsWatch& operator=(const ConditionsWatch&) = delete;

 private:
  void look();

  std::string path_;
  coterie_client* client_;
  std::string newest_;  // what was told last, as the file has it, or why it could not be read
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace coterie

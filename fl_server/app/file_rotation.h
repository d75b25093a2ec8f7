// FileRotation: takes files that an operator replaces into a running server: looks at their bytes every so often, and
// when it is told to.
//
// What is refused is logged once, and what was taken before stays in use until the files are other ones again: so it
// does not matter in which order, or how slowly, files that belong together (a certificate and its key) are replaced.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct RotatedFiles {
  std::string name;                // for the log: "tls", "admin_token"
  std::vector<std::string> paths;  // that belong together
  std::function<Status()> take;    // reads them and puts them to use; may fail, and then changes nothing
};

class FileRotation {
 public:
  // What the files are now counts as taken.
  explicit FileRotation(std::vector<RotatedFiles> watched);
  ~FileRotation() { stop(); }
  FileRotation(const FileRotation&) = delete;
  FileRotation& operator=(const FileRotation&) = delete;

  // Looks every `every` from now on, on a thread of its own.
  void start(Millis every);
  void stop();
  // Looks now; how many of them were taken.
  size_t look();

 private:
  struct Watched {
    RotatedFiles files;
    Digest seen;  // of all their bytes, as taken or refused last
  };
  void run(Millis every);

  std::mutex look_mutex_;
  std::vector<Watched> watched_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace coterie

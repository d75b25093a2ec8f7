// SourceWatch: a source of versions that a thread of its own asks again and again, so that whoever hears of them waits
// for no server.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/os/file.h"
#include "base/result.h"
#include "tools/serve/model_source.h"

namespace coterie {

class SourceWatch {
 public:
  struct News {
    std::optional<SourcedVersion> version;
    std::optional<uint64_t> promoted;
    std::optional<Error> error;  // told once while it stays the same
  };

  // Asks at once. Errors: unavailable (no descriptor).
  static Result<std::unique_ptr<SourceWatch>> make(std::unique_ptr<ModelSource> source,
                                                   std::optional<uint64_t> promoted, Millis every);
  // Readable while there is news.
  int fd() const { return rings_.fd(); }
  std::vector<News> take();

 private:
  SourceWatch(std::unique_ptr<ModelSource> source, std::optional<uint64_t> promoted, Millis every, os::File rings);
  void ask(std::optional<uint64_t>& promoted, std::string& told);

  const std::unique_ptr<ModelSource> source_;
  const os::File rings_;  // an eventfd
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<News> news_;  // guarded
  std::jthread thread_;
};

}  // namespace coterie

#include "fl_server/app/file_rotation.h"

#include <utility>

#include "base/log.h"
#include "base/os/file.h"
#include "secure/crypto/domain_fields.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 20;  // of each

// A file that cannot be read counts as its error: that is other, too, when it can be read again.
Digest digest_of_files(const std::vector<std::string>& paths) {
  DomainFields fields("coterie/v1/rotated-files");
  for (const std::string& path : paths) {
    const Result<Bytes> bytes = os::read_file(path, kFileBytesMax);
    fields.add(uint64_t{bytes.has_value()});
    fields.add(bytes ? as_text(*bytes) : std::string_view(bytes.error().message()));
  }
  return sha256(fields.view());
}

}  // namespace

FileRotation::FileRotation(std::vector<RotatedFiles> watched) {
  for (RotatedFiles& files : watched) {
    const Digest seen = digest_of_files(files.paths);
    watched_.push_back({std::move(files), seen});
  }
}

size_t FileRotation::look() {
  const std::lock_guard lock(look_mutex_);
  size_t count = 0;
  for (Watched& watched : watched_) {
    // Before they are taken: what is written meanwhile is other again next time.
    const Digest now = digest_of_files(watched.files.paths);
    if (std::exchange(watched.seen, now) == now) continue;
    if (const Status taken = watched.files.take(); taken) {
      ++count;
      log(LogLevel::info, "files_rotated", {{"what", watched.files.name}});
    } else {
      log(LogLevel::error, "files_not_rotated",
          {{"what", watched.files.name}, {"reason", taken.error().message()}, {"in_use", "what was there before"}});
    }
  }
  return count;
}

void FileRotation::start(Millis every) {
  thread_ = std::thread([this, every] { run(every); });
}

void FileRotation::run(Millis every) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, every, [this] { return stopping_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void FileRotation::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace coterie

#include "fl_server/app/seen_writer.h"

#include "base/log.h"
#include "fl_server/store/device_directory.h"

namespace coterie {
namespace {

constexpr size_t kRowsMax = 500;  // of one transaction

}  // namespace

SeenWriter::SeenWriter(DeviceDirectory& devices, Millis every)
    : devices_(devices), thread_([this, every] { run(every); }) {}

SeenWriter::~SeenWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void SeenWriter::run(Millis every) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, every, [this] { return stopping_; })) {
    lock.unlock();
    write();
    lock.lock();
  }
  write();
}

// What cannot be written now is tried again.
void SeenWriter::write() {
  Result<bool> more = true;
  while (more && *more) more = devices_.write_seen(kRowsMax);
  if (!more) log(LogLevel::warning, "seen_devices_not_written", {{"reason", more.error().message()}});
}

}  // namespace coterie

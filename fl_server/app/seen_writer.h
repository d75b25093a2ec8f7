// SeenWriter: has the store know which devices were there (device_directory.h), from its construction to its end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace coterie {

class DeviceDirectory;

class SeenWriter {
 public:
  // Writes every `every`, on a thread of its own, and once more at its end. `devices` outlives it.
  SeenWriter(DeviceDirectory& devices, Millis every);
  ~SeenWriter();
  SeenWriter(const SeenWriter&) = delete;
  SeenWriter& operator=(const SeenWriter&) = delete;

 private:
  void run(Millis every);
  void write();

  DeviceDirectory& devices_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace coterie

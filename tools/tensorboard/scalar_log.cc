#include "tools/tensorboard/scalar_log.h"

#include <unistd.h>

#include <utility>

#include "base/os/clock.h"

namespace coterie {
namespace {

constexpr int kNamesTriedMax = 1000;

double wall_seconds() { return static_cast<double>(unix_ms(os::wall_now())) / 1000; }

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

}  // namespace

Result<ScalarLog> ScalarLog::create(const std::string& directory) {
  if (directory.empty()) return ScalarLog();
  COT_TRY(os::make_directories(directory));
  const double now = wall_seconds();
  // A process may write several: each has a number of its own.
  std::string path;
  for (int number = 0; number < kNamesTriedMax && (path.empty() || os::exists(path)); ++number) {
    path = directory + "/" +
           event_file_name(static_cast<uint64_t>(now), host_name(), static_cast<uint64_t>(::getpid()), number);
  }
  COT_ASSIGN(os::File file, os::File::create(path));
  ScalarLog log(std::move(file));
  COT_TRY(log.file_.write_all(file_version_record(now)));
  return log;
}

Status ScalarLog::add(uint64_t step) {
  const std::vector<Scalar> scalars = std::exchange(scalars_, {});
  if (scalars.empty()) return {};
  if (sink_) sink_->take(os::wall_now(), step, scalars);
  if (!file_.is_open()) return {};
  return file_.write_all(scalars_record(wall_seconds(), step, scalars));
}

}  // namespace coterie

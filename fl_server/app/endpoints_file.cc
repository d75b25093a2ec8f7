#include "fl_server/app/endpoints_file.h"

#include <utility>

#include "base/log.h"
#include "base/os/crash_point.h"
#include "base/os/file.h"

namespace coterie {

Result<std::unique_ptr<EndpointsFile>> EndpointsFile::write(const std::string& path, const Endpoints& endpoints) {
  const auto write = [&] {
    return os::write_file_atomically(path, as_bytes(to_json_text(endpoints)), &os::crash::endpoints);
  };
  Status written = write();
  if (!written && written.error().code() == ErrorCode::storage_full) {
    // The file of the life before names ports that nobody listens at. Its room is enough for this one, as a rule.
    (void)os::remove_file(path);
    written = write();
  }
  std::unique_ptr<EndpointsFile> file(new EndpointsFile(path, endpoints));
  if (written) return file;
  if (written.error().code() != ErrorCode::storage_full) return written.error();
  log(LogLevel::warning, "endpoints_not_written", {{"path", path}, {"error", written.error().message()}});
  file->is_removed_ = true;
  return file;
}

void EndpointsFile::remove() {
  if (!std::exchange(is_removed_, true)) (void)os::remove_file(path_);
}

}  // namespace coterie

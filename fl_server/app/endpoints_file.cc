#include "fl_server/app/endpoints_file.h"

#include <utility>

#include "base/os/crash_point.h"
#include "base/os/file.h"

namespace coterie {

Result<std::unique_ptr<EndpointsFile>> EndpointsFile::write(const std::string& path, const Endpoints& endpoints) {
  COT_TRY(os::write_file_atomically(path, as_bytes(to_json_text(endpoints)), &os::crash::endpoints));
  return std::unique_ptr<EndpointsFile>(new EndpointsFile(path, endpoints));
}

void EndpointsFile::remove() {
  if (!std::exchange(is_removed_, true)) (void)os::remove_file(path_);
}

}  // namespace coterie

// For builds without the library's own HTTPS.
#include "device_sdk/c_api/default_transport.h"

namespace coterie {

Result<std::unique_ptr<Transport>> make_default_transport(const std::string&, const std::string&,
                                                          const std::atomic<bool>&) {
  return Error(ErrorCode::invalid_argument, "this build has no HTTPS of its own: set options.transport");
}

}  // namespace coterie

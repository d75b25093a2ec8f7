// The library's own HTTPS, where it was built in; else an error that says to bring a transport.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "device_sdk/client/transport.h"

namespace coterie {

// `cancelled` outlives the transport.
Result<std::unique_ptr<Transport>> make_default_transport(const std::string& url, const std::string& ca_file,
                                                          const std::atomic<bool>& cancelled);

}  // namespace coterie

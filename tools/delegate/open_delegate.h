// Delegates by their names: modules that lie beside the program or in ../lib/coterie.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// "onednn", "opencl": those that this source knows; whether this build has them, open_delegate() says.
std::vector<std::string> delegate_names();

// Loads coterie-NAME.so, which stays loaded. Errors: unsupported_version (no such module: says what to install, or one
// of another release); unavailable (what the delegate says itself: no device; nobody knows where the program lies).
Result<std::shared_ptr<Delegate>> open_delegate(const std::string& name);

}  // namespace coterie

// What foreign code throws ends here.
#pragma once

#include <functional>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// What `call` returns; internal if it throws, with what it says.
Status fenced(const std::function<Status()>& call);
Result<DelegateTraits> traits_of(const Delegate& delegate);

}  // namespace coterie

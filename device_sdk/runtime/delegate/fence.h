// What foreign code throws ends here.
#pragma once

#include <functional>

#include "base/result.h"

namespace coterie {

// What `call` returns; internal if it throws, with what it says.
Status fenced(const std::function<Status()>& call);

}  // namespace coterie

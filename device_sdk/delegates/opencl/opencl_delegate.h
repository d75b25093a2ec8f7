// OpenCL as a delegate: kernels of a few ops on the first device of the first platform, in its own memory. It shows
// what a GPU needs of the runtime. The kernels are written to be right: one work item computes one element.
#pragma once

#include <memory>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// Takes conv2d, dense, relu, add of equal shapes, pools, flatten, identity and dropout. Errors: unavailable (no
// platform, no device, or kernels that its compiler refuses).
Result<std::unique_ptr<Delegate>> open_opencl_delegate();

}  // namespace coterie

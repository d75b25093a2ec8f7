// A part of a graph as launches of OpenCL kernels.
#pragma once

#include <memory>

#include "base/result.h"
#include "device_sdk/delegates/opencl/opencl_device.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// The part has ops that the delegate takes; the device outlives it. Errors: unavailable; too_large (a tensor of 2^31
// elements).
Result<std::unique_ptr<CompiledPart>> compile_opencl_part(OpenclDevice& device, const DelegatePart& part);

}  // namespace coterie

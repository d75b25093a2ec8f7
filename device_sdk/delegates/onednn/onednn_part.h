// A part of a graph as oneDNN's primitives.
#pragma once

#include <memory>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// The part has ops that the delegate takes. Throws dnnl::error.
Result<std::unique_ptr<CompiledPart>> compile_onednn_part(const DelegatePart& part);

}  // namespace coterie

// oneDNN as a delegate: inference on the host's CPU, in float32.
#pragma once

#include <memory>

#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// Takes conv2d, dense, batch_norm, relu, relu6, pools, add, softmax, and what only renames elements (flatten, identity,
// dropout). Weights are laid out and norms folded into them when a part is compiled.
std::unique_ptr<Delegate> make_onednn_delegate();

}  // namespace coterie

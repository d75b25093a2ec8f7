// A part of a training as oneDNN's primitives, forward and backward.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

// Why this op of a training is not computed here, beside what goes for predictions; empty if it is.
std::string onednn_training_refusal(OpKind kind);

// The part has ops that the delegate takes. Throws dnnl::error.
Result<std::unique_ptr<TrainingPart>> compile_onednn_training_part(const DelegatePart& part);

}  // namespace coterie

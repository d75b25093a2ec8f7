// The learning rate that an optimizer starts with unless told.
#pragma once

#include "proto/messages/plan.h"

namespace coterie {

// PyTorch's defaults, 0.1 for SGD, which has none there, and for Lion that of its paper.
float default_learning_rate(OptimizerKind kind);

}  // namespace coterie

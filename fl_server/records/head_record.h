// What the heads of a model's row have come to, as bytes: for each the length of its output's name less 1 and which
// figures it has (bit 0 loss, 1 accuracy, 2 mae), a byte each, the name, and the figures as doubles in this order;
// numbers as the machine has them, as in delta_chain.h.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "scheduler/job/evaluated_head.h"

namespace coterie {

// Figures that are not finite are left out.
Bytes encode_heads(const std::vector<EvaluatedHead>& heads);
// data_loss: these are not the bytes of one head or more.
Result<std::vector<EvaluatedHead>> decode_heads(ByteView bytes);

}  // namespace coterie

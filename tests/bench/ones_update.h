// An update that adds one to every weight: of all devices of a round the same bytes.
#pragma once

#include <vector>

#include "proto/codec/codec.h"
#include "proto/messages/checkin.h"
#include "proto/messages/update.h"

namespace coterie::bench {

inline Bytes ones_update(const Assignment& assignment, uint64_t values) {
  const UpdateHeader header{.round = assignment.round,
                            .model = assignment.model,
                            .value_count = values,
                            .weight = 1,
                            .examples = 1,
                            .loss_sum = 0,
                            .correct = 0,
                            .train_ms = 0};
  Bytes frame = encode_head(header);
  const std::vector<float> ones(values, 1.0f);
  const ByteView payload(reinterpret_cast<const uint8_t*>(ones.data()), values * sizeof(float));
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

}  // namespace coterie::bench

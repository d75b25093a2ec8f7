// What leaves the device: the trained minus the given parameters, limited as the plan says.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "proto/messages/running_statistics.h"
#include "proto/messages/update.h"

namespace coterie {

// The update's weight in the sum: its examples, at most the plan's weight_max, at least 1.
uint32_t update_weight(uint64_t examples, const UpdateRules& rules);

// Makes what the plan asks for of trained - given: scales the update to the plan's L2 norm (McMahan et al. 2018,
// section 3.1), if it has one, and every coordinate into the plan's bound. With encoding float32_pooled the model's
// running statistics are encoded as proto/messages/running_statistics.h says, and neither count in that norm nor are
// scaled by it. invalid_argument if a value is not finite: the last step of training may overflow unseen.
//
// With encoding float32_clip_bit, clip_l2 S and the round's clip_norm C, an update d of norm n becomes
//
//   d_i * min(1, C / n) * S / C        its norm is at most S, in every round
//   bit if n <= C, else -bit           in the last value, which is not looked at
//
// so that what noise has to hide, a vector of norm sqrt(S^2 + bit^2) at most, is the same in all rounds. The server
// multiplies the mean by C / S (scheduler/job/adaptive_clip_rules.h).
//
// Scalars behind the update (rules.scalars) are no part of a norm; they are kept in [0, value_abs_max].
Status limit_update(std::span<float> update, const UpdateRules& rules,
                    std::span<const RunningStatistics> statistics = {});

Bytes encode_update(const UpdateHeader& header, std::span<const float> delta);
// The same of a quantized one; header.bits each.
Bytes encode_update(const UpdateHeader& header, std::span<const uint16_t> levels);

}  // namespace coterie

// An update on its way to the sum, and what the server answers.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "proto/messages/plan.h"

namespace coterie {

// The header of an update. The values are the frame's payload: value_count float32, little-endian; if it is quantized
// or of eden, so many levels of `bits` (proto/codec/update/bit_packing.h); of top_k sent_count values and where they
// belong (proto/codec/update/sparse_values.h).
struct UpdateHeader {
  RoundKey round;
  Digest model;  // the model that was trained from
  UpdateEncoding encoding = UpdateEncoding::float32;
  uint64_t value_count = 0;
  uint32_t weight = 0;    // in the sum: the number of examples, capped by the plan's weight_max
  uint32_t examples = 0;  // seen in training, with repetition
  double loss_sum = 0;    // over those examples, as training saw them
  uint32_t correct = 0;   // of those examples; of one with several rows (words), its part of them; 0 for a regression
  uint32_t train_ms = 0;
  uint32_t bits = 0;           // UpdateRules::level_bits()
  uint64_t sent_count = 0;     // of top_k
  float scale = 0;             // of eden, and of top_k with levels: what a level is multiplied by
  uint64_t rotation_seed = 0;  // of eden
  friend bool operator==(const UpdateHeader&, const UpdateHeader&) = default;
};

// Proof of acceptance: the same bytes for every upload of the same device in the same attempt.
struct Receipt {
  RoundKey round;
  Bytes receipt;
  friend bool operator==(const Receipt&, const Receipt&) = default;
};

}  // namespace coterie

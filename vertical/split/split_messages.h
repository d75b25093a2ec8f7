// What the parties of a split network say to each other, each message of a size that the settings fix:
//
//   activations  feature party, training: the step (4 bytes), then the batch's rows at the cut (cut_tensor.h)
//   gradients    label party, training: the step, then the loss's gradients of these
//   scored       feature party, prediction: the message's number, then rows at the cut
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "vertical/split/cut_tensor.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

enum class SplitMessage : uint16_t { activations = 1, gradients = 2, scored = 3 };

Message split_message(PartyIndex to, SplitMessage kind, uint32_t step, ByteView tensor);

// The tensor of a message of this kind, sender and step, or `malformed`, which says what came and what was expected.
struct ExpectedTensor {
  PartyIndex from;
  SplitMessage kind;
  uint32_t step;
  size_t rows, width;
  CutEncoding encoding;
};
Result<std::vector<float>> read_split_message(const Message& message, const ExpectedTensor& expected);

}  // namespace coterie::vertical

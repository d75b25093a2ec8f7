// The model of a device of less width (proto/messages/model_widths.h), cut out of the whole one: a model as any other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/model_widths.h"

namespace coterie {

struct NarrowModel {
  Model model;
  std::vector<SlicePiece> pieces;  // where its values lie in the whole one's
};
// Errors: those of width_slices; Model::load's, where what is cut does not fit together.
Result<NarrowModel> narrow_model(const Model& whole, uint32_t width);

// Values of a narrow model's flat vector as those of the whole one, `size` of them; 0 where it has none.
std::vector<float> widened(std::span<const SlicePiece> pieces, std::span<const float> narrow, uint64_t size);

}  // namespace coterie

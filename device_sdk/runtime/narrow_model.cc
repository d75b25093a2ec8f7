#include "device_sdk/runtime/narrow_model.h"

#include <algorithm>
#include <utility>

#include "device_sdk/runtime/seal.h"

namespace coterie {

Result<NarrowModel> narrow_model(const Model& whole, uint32_t width) {
  COT_ASSIGN(NarrowGraph narrow, narrow_graph(whole.graph(), width));
  std::vector<float> values(narrow.value_count);
  for (const SlicePiece& piece : narrow.pieces) {
    std::ranges::copy(whole.parameters().subspan(piece.whole, piece.count),
                      values.begin() + static_cast<std::ptrdiff_t>(piece.narrow));
  }
  COT_ASSIGN(Model model, Model::load(sealed_model_file(narrow.graph, values)));
  return NarrowModel{std::move(model), std::move(narrow.pieces)};
}

std::vector<float> widened(std::span<const SlicePiece> pieces, std::span<const float> narrow, uint64_t size) {
  std::vector<float> values(size);
  for (const SlicePiece& piece : pieces) {
    std::ranges::copy(narrow.subspan(piece.narrow, piece.count),
                      values.begin() + static_cast<std::ptrdiff_t>(piece.whole));
  }
  return values;
}

}  // namespace coterie

#include "proto/messages/model_widths.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr uint64_t kAlignmentValues = 16;  // of a parameter in the payload (proto/codec/limits.h)

uint64_t first_value(const TensorInfo& tensor) { return tensor.payload_offset / sizeof(float); }

// Calls visit(first place of the row, its places in the dimensions before the last one) for each row of a tensor.
template <typename Visit>
void for_each_row(const std::vector<KeptPlaces>& dimensions, Visit visit) {
  std::vector<uint64_t> places(dimensions.empty() ? 0 : dimensions.size() - 1);
  const uint64_t columns = dimensions.empty() ? 1 : dimensions.back().size;
  for (uint64_t row = 0;; row += columns) {
    visit(row, std::as_const(places));
    size_t i = places.size();
    while (i > 0 && ++places[i - 1] == dimensions[i - 1].size) places[--i] = 0;
    if (i == 0) return;
  }
}

// Calls visit(first, count) for each piece of a last dimension that is kept.
template <typename Visit>
void for_each_kept(const KeptPlaces& columns, Visit visit) {
  if (columns.kept == columns.period) return visit(uint64_t{0}, columns.size);
  for (uint64_t at = 0; at < columns.size; at += columns.period) visit(at, columns.kept);
}

// A tensor without dimensions is one value, which is whole.
KeptPlaces last_of(const std::vector<KeptPlaces>& dimensions) {
  return dimensions.empty() ? KeptPlaces{1, 1, 1} : dimensions.back();
}

bool keeps_row(const std::vector<KeptPlaces>& dimensions, const std::vector<uint64_t>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (!dimensions[i].has(places[i])) return false;
  }
  return true;
}

// Those of one tensor, which each of `slices` is of, from the widest to the narrowest.
void add_blocks(const TensorInfo& tensor, const std::vector<const TensorSlice*>& slices,
                std::vector<WidthBlock>& blocks) {
  const size_t before = blocks.size();
  const auto add = [&](uint64_t first, uint64_t count, uint32_t narrowest) {
    const bool goes_on = blocks.size() > before && blocks.back().narrowest == narrowest;
    if (goes_on) blocks.back().values.count += count;
    else blocks.push_back({{first_value(tensor) + first, count}, narrowest});
  };
  for_each_row(slices.front()->dimensions, [&](uint64_t row, const std::vector<uint64_t>& places) {
    uint32_t last = 0;  // of those that have something of the row; the widest has all
    while (last + 1 < slices.size() && keeps_row(slices[last + 1]->dimensions, places)) ++last;
    const KeptPlaces columns = last_of(slices.front()->dimensions);
    const uint64_t period = last_of(slices[last]->dimensions).period;
    for (uint64_t at = 0; at < columns.size; at += period) {
      uint64_t from = 0;
      for (uint32_t narrowest = last + 1; narrowest-- > 0;) {
        const uint64_t kept = last_of(slices[narrowest]->dimensions).kept;
        if (kept > from) add(row + at + from, kept - from, narrowest);
        from = std::max(from, kept);
      }
    }
  });
}

}  // namespace

Result<std::vector<WidthBlock>> width_blocks(const ModelGraph& graph, std::span<const uint32_t> widths) {
  COT_ASSERT(!widths.empty() && widths.front() == kWholeWidth);
  std::vector<std::vector<TensorSlice>> all;
  for (const uint32_t width : widths) {
    COT_ASSIGN(std::vector<TensorSlice> slices, width_slices(graph, width));
    all.push_back(std::move(slices));
  }
  std::vector<WidthBlock> blocks;
  for (size_t i = 0; i < all.front().size(); ++i) {
    std::vector<const TensorSlice*> slices;
    for (const std::vector<TensorSlice>& of_width : all) slices.push_back(&of_width[i]);
    add_blocks(graph.tensors[slices.front()->tensor], slices, blocks);
  }
  std::ranges::sort(blocks, {}, [](const WidthBlock& block) { return block.values.first; });
  return blocks;
}

Result<NarrowGraph> narrow_graph(const ModelGraph& graph, uint32_t width) {
  COT_ASSIGN(const std::vector<TensorSlice> slices, width_slices(graph, width));
  NarrowGraph narrow{.graph = graph, .pieces = {}};
  for (const TensorSlice& slice : slices) {
    TensorInfo& tensor = narrow.graph.tensors[slice.tensor];
    narrow.value_count = (narrow.value_count + kAlignmentValues - 1) / kAlignmentValues * kAlignmentValues;
    tensor.payload_offset = narrow.value_count * sizeof(float);
    for (size_t i = 0; i < slice.dimensions.size(); ++i) {
      tensor.shape[i] = static_cast<int64_t>(slice.dimensions[i].count());
    }
    const uint64_t whole = first_value(graph.tensors[slice.tensor]);
    const size_t before = narrow.pieces.size();
    const auto add = [&](uint64_t first, uint64_t count) {
      const bool goes_on =
          narrow.pieces.size() > before && narrow.pieces.back().whole + narrow.pieces.back().count == first;
      if (goes_on) narrow.pieces.back().count += count;
      else narrow.pieces.push_back({first, narrow.value_count, count});
      narrow.value_count += count;
    };
    for_each_row(slice.dimensions, [&](uint64_t row, const std::vector<uint64_t>& places) {
      if (!keeps_row(slice.dimensions, places)) return;
      for_each_kept(last_of(slice.dimensions),
                    [&](uint64_t first, uint64_t count) { add(whole + row + first, count); });
    });
  }
  return narrow;
}

}  // namespace coterie

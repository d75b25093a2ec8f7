// Sparse update by channels: of some parameters, only some channels are trained (Lin et al. 2022, arXiv:2206.15472).
//
// A parameter's channels are its last dimension: the outputs of dense and conv2d, what a normalisation scales, an
// embedding's features. The others keep their values, to the bit, and their optimizer state. dense and conv2d compute
// no more of the gradient than is needed; of every other op the needed part is taken out of the whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/program.h"
#include "proto/messages/model.h"

namespace coterie {

// Neighbouring channels. None (count 0) stands for all of them: nothing sparse.
struct ChannelRange {
  uint32_t first = 0, count = 0;
  bool is_all() const { return count == 0; }
  friend bool operator==(const ChannelRange&, const ChannelRange&) = default;
};

// Trains only channels first .. last, or the first part of them, of the parameters whose name matches (name_pattern.h).
struct ChannelUpdate {
  std::string pattern;
  uint32_t first = 0, last = 0;
  double fraction = 0;  // in (0, 1]: of the channels, rounded up, instead of first and last
  friend bool operator==(const ChannelUpdate&, const ChannelUpdate&) = default;
};

// "conv*:0-15" or "conv*:25%". invalid_argument says what is wrong.
Result<ChannelUpdate> parse_channels(std::string_view text);

// Per tensor of the graph; of several updates that match, the first counts. invalid_argument if a pattern matches no
// parameter, or a parameter has fewer channels.
Result<std::vector<ChannelRange>> channel_ranges(const ModelGraph& graph, const std::vector<ChannelUpdate>& updates);

// A matrix of `rows` rows of `width` channels, and a narrow one of the range's channels alone.
struct ChannelMatrix {
  size_t rows, width;
  ChannelRange range;
  uint64_t narrow_elements() const { return rows * range.count; }
};
ChannelMatrix channel_matrix(const Shape& shape, ChannelRange range);

void emit_take_channels(Program& program, Phase phase, const ChannelMatrix& matrix, BufferId whole, BufferId narrow);
void emit_put_channels(Program& program, Phase phase, const ChannelMatrix& matrix, BufferId narrow, BufferId whole);

}  // namespace coterie

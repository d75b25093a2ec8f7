// A table of counts as a file: a model whose parameters are the table (proto/messages/analytics.h), so that versions of
// it are stored, named, sent and removed as those of any model are. It is one block of lanes, to which each round adds;
// or a block for each round, where each asks what those before leave open.
//
// The model takes what the job's examples have and adds the blocks to the mean of it. Nobody computes that; it makes
// the file a whole model for whoever opens one.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/analytics.h"

namespace coterie {

inline constexpr uint64_t kTableBytesMax = 64ull << 20;  // of such a file

// The table before the first round: zeros. Its digest names the question: it is the same for the same one, whatever
// values_max and lane_max are, and another for another. The rules are valid: those of the first round.
Bytes new_table(const AnalyticsRules& rules, uint32_t blocks = 1);

// What a version of it holds. malformed: the file is no table of so many lanes.
Result<std::vector<float>> read_table(const AnalyticsRules& rules, ByteView file);
// Likewise, of so many blocks.
using CountBlocks = std::vector<std::vector<float>>;
Result<CountBlocks> read_blocks(const AnalyticsRules& rules, uint32_t blocks, ByteView file);

}  // namespace coterie

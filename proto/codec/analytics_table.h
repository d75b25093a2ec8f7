// A table of counts as a file: a model whose only parameter is the table (proto/messages/analytics.h), so that versions
// of it are stored, named, sent and removed as those of any model are.
//
// The model takes what the job's examples have and adds the table to the mean of it. Nobody computes that; it makes the
// file a whole model for whoever opens one.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/analytics.h"

namespace coterie {

// The table before the first round: zeros. Its digest names the question: it is the same for the same one, whatever
// values_max and lane_max are, and another for another. The rules are valid.
Bytes new_table(const AnalyticsRules& rules);

// What a version of it holds. malformed: the file is no table of so many lanes.
Result<std::vector<float>> read_table(const AnalyticsRules& rules, ByteView file);

}  // namespace coterie

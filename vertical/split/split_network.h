// The two parts of a split network as model files: what each template makes of the columns that a party has.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/split/split_columns.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

// The feature party's: one input, its columns; the output is what crosses the cut, cut_width() numbers.
// invalid_argument if it has no column, or of the other kind than the network reads.
Result<Bytes> make_feature_network(const SplitSettings& settings, const ColumnSchema& columns, uint64_t seed);

// The label party's: input 0 is what crosses the cut, input 1 its own columns, if it has any; the output is the logit.
// The same errors; two towers need columns at both parties: "template_needs_columns".
Result<Bytes> make_label_network(const SplitSettings& settings, const ColumnSchema& columns, uint64_t seed);

// One network over one table, for whoever compares: input 0 is its columns, the output the logit. Two towers become
// one, with a linear end. The same errors.
Result<Bytes> make_whole_network(const SplitSettings& settings, const ColumnSchema& columns, uint64_t seed);

}  // namespace coterie::vertical

// What both parties of an exact regression agree on, which batches it refuses, and how its numbers lie as integers.
//
// A batch's gradient tells the feature party one equation for each of its columns, about residuals that follow from
// labels. In the first step every margin is 0, so that a residual is 1/2 - label: the unknowns are bits. With as many
// equations as rows linear algebra finds them; with fewer, whole numbers that are short vectors of a lattice do, as
// long as the equations hold more bits than there are labels (ADR 160). So a batch must have more rows than its
// equations have bits:
//
//   rows >= columns * (kExactColumnBits + log2(rows) / 2 + 1.05) + kExactBitsLeft
//
// A sum of `rows` terms x (1/2 - label), x of deviation 2^kExactColumnBits, has a deviation of 2^kExactColumnBits
// sqrt(rows) / 2 and so, as no distribution of a deviation has more entropy than the normal one, at most
// kExactColumnBits + log2(sqrt(rows) / 2) + log2(sqrt(2 pi e)) bits; the last two are log2(rows) / 2 + 1.05. At least
// kExactBitsLeft bits of evenly spread labels are then left open.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "vertical/regression/regression_settings.h"
#include "vertical/regression/ring_plan.h"

namespace coterie::vertical {

// A standardised value x of the feature party is round(x * 2^12), a residual r round(r * 2^40).
constexpr int kExactColumnBits = 12;
constexpr int kExactResidualBits = 40;
constexpr uint32_t kExactBitsLeft = 64;
constexpr uint32_t kExactCheckpointSteps = 4;

// The fewest rows that a batch may have beside so many columns of the feature party.
uint32_t exact_rows_min(uint32_t feature_columns);

// `refused` with the reason "batch_reveals_labels" if one batch, the last one of an epoch too, has fewer than
// exact_rows_min(); it says how many it would take. invalid_argument for what is out of range.
Status check_exact_batches(uint32_t rows, uint32_t label_columns, uint32_t feature_columns,
                           const RegressionSettings& settings);
// The same before the parties know whom both have: `rows` of the own table at most.
Status check_exact_table(uint32_t rows, uint32_t feature_columns, const RegressionSettings& settings);

}  // namespace coterie::vertical

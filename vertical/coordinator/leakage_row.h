// LeakageRow: what the parties of a job learn of each other by one stage of it, in words that are true of every job
// with this row (docs/VERTICAL.md, "Who learns what"). A party's own ledger says it with the job's numbers.
#pragma once

#include <span>
#include <string_view>

namespace coterie::vertical {

struct LeakageRow {
  std::string_view id;  // "L1"
  std::string_view stage;
  std::string_view label_party, feature_party;
  std::string_view coordinator = {};  // beyond sizes and times of what it carries; mostly nothing
};

inline constexpr size_t kLeakageRowsMax = 4;  // of a job

std::span<const LeakageRow> all_leakage_rows();
// Null: there is no such row.
const LeakageRow* leakage_row(std::string_view id);

}  // namespace coterie::vertical

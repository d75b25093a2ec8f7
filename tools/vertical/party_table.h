// PartyTable: one organisation's CSV file as ids, columns of numbers and perhaps labels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vertical/psi/id_list.h"

namespace coterie {

constexpr uint64_t kPartyTableBytesMax = uint64_t{1} << 30;  // of a file, and of what it unpacks to

struct PartyTable {
  std::shared_ptr<const vertical::IdList> ids = std::make_shared<vertical::IdList>();  // row by row; never null
  std::vector<std::string> names;                                                      // of the columns below
  std::vector<std::vector<float>> columns;  // [column][row]; NaN where the file says that there is no value
  std::vector<float> labels;                // 0 or 1, or numbers; empty without a label column
};

enum class LabelValues : uint8_t { binary, numbers };  // 0 and 1; or any, for linear regressions

// Beside the table, memory is 4 bytes a row. `label_column` is empty for a feature party. A header names the columns;
// all but the id are numbers. Errors name file, line and column, never a value or an id: malformed (ragged rows, no
// number, not finite as float, another binary label than 0 and 1, no id, an id twice), invalid_argument (a column that
// is not there).
Result<PartyTable> parse_party_table(std::string_view text, const std::string& file, const std::string& id_column,
                                     const std::string& label_column, LabelValues values = LabelValues::binary);

// The same rows of each column, in this order.
std::vector<std::vector<float>> rows_of(const std::vector<std::vector<float>>& columns,
                                        const std::vector<uint32_t>& rows);

}  // namespace coterie

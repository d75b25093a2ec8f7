#include "tools/data/target_cells.h"

#include "base/assert.h"
#include "model_io/contract_targets.h"

namespace coterie {

void set_target_cells(std::span<const TargetValues> values, const InputContract& contract, ExampleTable& table) {
  COT_ASSERT(values.size() == contract.targets.size());
  const bool has_numbers = has_number_target(contract);
  std::vector<float> numbers;
  std::vector<int32_t> labels;
  for (size_t row = 0; row < table.size(); ++row) {
    for (const TargetValues& each : values) {
      if (!has_numbers) labels.push_back(each.labels[row]);
      else numbers.push_back(each.labels.empty() ? each.numbers[row] : static_cast<float>(each.labels[row]));
    }
  }
  table.header.target = {.name = "target",
                         .type = has_numbers ? ColumnType::float32 : ColumnType::int32,
                         .shape = {static_cast<int64_t>(values.size())}};
  table.header.classes = classes_in_header(contract);
  table.columns.push_back(has_numbers ? column_of(numbers) : column_of(labels));
}

}  // namespace coterie

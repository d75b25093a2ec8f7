#include "tools/data/target_scale.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace coterie {
namespace {

std::vector<float> values_of(const ExampleTable& table) {
  std::vector<float> values(table.size());
  std::memcpy(values.data(), table.columns.back().data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

void fit_target(const ExampleTable& table, std::span<const uint32_t> fitted, ContractTarget& target) {
  if (!table.header.target.shape.empty()) return;
  const std::vector<float> values = values_of(table);
  const ContractColumn fit = fit_numbers("", std::vector<double>(values.begin(), values.end()), fitted);
  target.mean = fit.mean;
  target.deviation = fit.deviation;
  target.low = fit.low;
  target.high = fit.high;
  target.is_standardised = true;
}

void standardise_target(const ContractTarget& target, ExampleTable& table) {
  DatasetColumn& column = table.header.target;
  if (!target.is_number || !target.is_standardised || !column.shape.empty() || column.scale != 1 || column.offset != 0)
    return;
  const auto scale = static_cast<float>(target.deviation);
  if (scale > 0) column.scale = scale;
  column.offset = static_cast<float>(target.mean);
  std::vector<float> values = values_of(table);
  for (float& value : values) {
    value = static_cast<float>((static_cast<double>(value) - static_cast<double>(column.offset)) /
                               static_cast<double>(column.scale));
  }
  std::memcpy(table.columns.back().own().data(), values.data(), values.size() * sizeof(float));
}

}  // namespace coterie

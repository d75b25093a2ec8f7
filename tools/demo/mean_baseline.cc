#include "tools/demo/mean_baseline.h"

#include <cstring>
#include <vector>

#include "device_sdk/runtime/metrics.h"
#include "model_io/input_contract.h"
#include "proto/codec/codec.h"

namespace coterie {

Result<MeanBaseline> mean_baseline(const ContractTarget& target, const Bytes& held_out) {
  COT_ASSIGN(const Decoded<DatasetHeader> data, decode_dataset(held_out));
  const DatasetColumn& column = data.header.target;
  if (column.type != ColumnType::float32 || !column.shape.empty()) {
    return Error(ErrorCode::malformed, data.header.name + " has no numbers as its targets");
  }
  std::vector<float> targets(data.header.examples);
  std::memcpy(targets.data(), data.payload.last(targets.size() * sizeof(float)).data(), targets.size() * sizeof(float));
  const auto scale = static_cast<double>(column.scale);
  const auto always = static_cast<float>((target.mean - static_cast<double>(column.offset)) / scale);
  ValueMetrics values;
  for (const float expected : targets) values.add(always, expected);
  return MeanBaseline{values.mean_absolute_error() * scale, values.r2()};
}

}  // namespace coterie

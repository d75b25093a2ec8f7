#include "tools/data/input_types.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "base/text/concat.h"

namespace coterie {
namespace {

size_t inputs_of_both(const Model& model, const DatasetHeader& header) {
  return std::min(model.graph().inputs.size(), header.inputs.size());
}

const std::string& name_of(const Model& model, size_t input) {
  return model.graph().tensors[model.graph().inputs[input]].name;
}

}  // namespace

Status check_input_types(const Model& model, const DatasetHeader& header) {
  for (size_t i = 0; i < inputs_of_both(model, header); ++i) {
    const bool takes_int = model.input_type(i) == DataType::int32, has_int = header.inputs[i].type == ColumnType::int32;
    if (takes_int == has_int) continue;
    if (takes_int) {
      return Error(
          ErrorCode::invalid_argument,
          concat({"the model takes whole numbers (int32) as input ", name_of(model, i), ", and the data have ",
                  to_string(header.inputs[i].type), ": arrays and tables of such with numbers=raw, or a text"}));
    }
    return Error(ErrorCode::invalid_argument,
                 concat({"the model takes float32 as input ", name_of(model, i),
                         ", and the data have whole numbers (int32), as texts and categories=codes have them: they are "
                         "for models that look them up"}));
  }
  return {};
}

Result<bool> take_whole_inputs(const Model& model, ExampleTable& table) {
  bool is_changed = false;
  for (size_t i = 0; i < inputs_of_both(model, table.header); ++i) {
    DatasetColumn& input = table.header.inputs[i];
    if (model.input_type(i) != DataType::int32 || input.type != ColumnType::float32) continue;
    Bytes& column = table.columns[i].own();
    const uint64_t row_bytes = table.size() > 0 ? column.size() / table.size() : 1;
    for (size_t at = 0; at < column.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, column.data() + at, sizeof value);
      if (!is_whole_int32(value)) {
        return Error(
            ErrorCode::invalid_argument,
            concat({"the model takes whole numbers (int32) as input ", name_of(model, i), ", and example ",
                    at / row_bytes, " has ", std::to_string(value), ": numbers=raw leaves numbers as they stand"}));
      }
      const auto index = static_cast<int32_t>(value);
      std::memcpy(column.data() + at, &index, sizeof index);
    }
    input.type = ColumnType::int32;
    is_changed = true;
  }
  return is_changed;
}

}  // namespace coterie

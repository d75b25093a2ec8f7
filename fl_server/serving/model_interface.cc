#include "fl_server/serving/model_interface.h"

namespace coterie {

std::string_view protocol_name(DataType type) { return type == DataType::int32 ? "INT32" : "FP32"; }

std::string protocol_shape(const Shape& example, int64_t batch) {
  std::string text = "[" + std::to_string(batch);
  for (const int64_t size : example) text += "," + std::to_string(size);
  return text + "]";
}

}  // namespace coterie

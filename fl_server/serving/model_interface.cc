#include "fl_server/serving/model_interface.h"

namespace coterie {

uint64_t elements_of(const Shape& shape) {
  uint64_t count = 1;
  for (const int64_t size : shape) count *= static_cast<uint64_t>(size);
  return count;
}

std::string_view protocol_name(ProtocolType type) {
  switch (type) {
    case ProtocolType::float32: return "FP32";
    case ProtocolType::int32: return "INT32";
    case ProtocolType::float64: return "FP64";
    case ProtocolType::uint8: return "UINT8";
    case ProtocolType::bytes: return "BYTES";
  }
  return "";
}

size_t element_bytes(ProtocolType type) {
  switch (type) {
    case ProtocolType::float32:
    case ProtocolType::int32: return 4;
    case ProtocolType::float64: return 8;
    case ProtocolType::uint8: return 1;
    case ProtocolType::bytes: return 0;
  }
  return 0;
}

std::string protocol_shape(const Shape& example, int64_t batch) {
  std::string text = "[" + std::to_string(batch);
  for (const int64_t size : example) text += "," + std::to_string(size);
  return text + "]";
}

}  // namespace coterie

// Labelled examples in one file: the evaluation set of a job, a device's own data in the demo.
#pragma once

#include <cstdint>
#include <string>

#include "proto/messages/model.h"

namespace coterie {

// Payload: features float32 [examples, feature_shape...], then labels int32 [examples].
struct DatasetHeader {
  std::string name;
  uint64_t examples = 0;
  Shape feature_shape;   // of one example, NHWC without N
  uint32_t classes = 0;  // labels are in [0, classes)
  friend bool operator==(const DatasetHeader&, const DatasetHeader&) = default;
};

}  // namespace coterie

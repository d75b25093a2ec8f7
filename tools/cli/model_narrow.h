// coterie model narrow: the model of a device of less width, cut out of a whole one
// (device_sdk/runtime/narrow_model.h).
#pragma once

#include <cstdint>
#include <string>

#include "proto/messages/width_share.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ModelNarrowOptions {
  std::string from;
  uint32_t width = kWholeWidth;
  std::string to;
};

ExitCode write_narrow(const ModelNarrowOptions& options);

}  // namespace coterie

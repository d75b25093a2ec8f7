// Models that compute in int8: made of float32 ones, and shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "device_sdk/runtime/int8/int8_program.h"
#include "tools/cli/model_quantise.h"

namespace coterie {

// coterie model quantise --full.
ExitCode quantise_model_full(const QuantiseOptions& options);

// What coterie model inspect adds for such a file: the grid of each value.
std::string table_of(const Int8Program& program);
nlohmann::json json_of(const Int8Program& program);

}  // namespace coterie

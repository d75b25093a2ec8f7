// Models that compute in int8, shown.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "device_sdk/runtime/int8/int8_program.h"

namespace coterie {

// What coterie model inspect adds for such a file: the grid of each value.
std::string table_of(const Int8Program& program);
nlohmann::json json_of(const Int8Program& program);

}  // namespace coterie

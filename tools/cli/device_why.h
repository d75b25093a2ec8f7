// coterie device why: the last gate that a device met on its way to a round, from its own state directory alone.
#pragma once

#include <string>

#include "tools/cli/arguments.h"
#include "tools/cli/exit_code.h"

namespace coterie {

ExitCode tell_device_why(const std::string& state_dir, bool as_json);

// The grammar, of the group device.
void add_device_why(CLI::App& device, Invocation& invocation);

}  // namespace coterie

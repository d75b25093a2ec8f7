// coterie device model: the model that a device's apps are to use now.
#pragma once

#include <string>

#include "tools/cli/arguments.h"

namespace coterie {

struct DeviceModelOptions {
  std::string server_url, ca_file;  // no ca_file: the system's certificates
  std::string state_dir;            // of a device that has enrolled
  std::string file;                 // where the model goes
};
ExitCode fetch_device_model(const DeviceModelOptions& options);

// The grammar, of the group device.
void add_device_model(CLI::App& device, Invocation& invocation);

}  // namespace coterie

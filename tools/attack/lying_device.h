// A device of a drill: it enrolls, checks in, trains, and sends a lie (attack.h). It is no client of the SDK, which
// sends nothing but what it has trained; what both share is the training.
#pragma once

#include "tools/attack/attack.h"
#include "tools/device/device_agent.h"

namespace coterie {

// As run_device, but for the policy: it takes part in plain rounds whatever they promise. What it does it says as the
// reference device does. Precondition: the kind does not need others.
ExitCode run_lying_device(const DeviceOptions& options, const Lie& lie);

}  // namespace coterie

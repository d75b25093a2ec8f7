// The job key device_requirements (proto/messages/device_requirements.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "proto/messages/device_requirements.h"

namespace coterie {

// Takes the whole object. Ranges are for validate(settings) to judge.
void read_device_requirements(JsonReader reader, DeviceRequirements& requirements);
// Each key is left out where it says nothing, and so is the object: a server of the version before, beside this one,
// does not know them.
void add_device_requirements(nlohmann::json& job, const DeviceRequirements& requirements);

}  // namespace coterie

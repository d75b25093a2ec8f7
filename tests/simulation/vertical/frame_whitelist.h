// Which types of messages a party may say in which stage of which job.
#pragma once

#include <cstdint>

#include "tools/vertical/manifest.h"
#include "vertical/link/frame.h"

namespace coterie::simulation {

bool is_on_list(const VerticalManifest& manifest, vertical::PartyIndex from, vertical::StageId stage, uint16_t kind);

}  // namespace coterie::simulation

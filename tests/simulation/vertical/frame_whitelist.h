// Which types of messages may pass from whom to whom in which stage of which job.
#pragma once

#include "tools/vertical/manifest.h"
#include "vertical/link/frame.h"

namespace coterie::simulation {

// From whom to whom: a party, or vertical::kMatcher.
struct Way {
  vertical::PartyIndex from = 0, to = 0;
  friend auto operator<=>(const Way&, const Way&) = default;
};

// Whether such a message may pass this way in the job's stage.
bool is_on_list(const VerticalManifest& manifest, Way way, vertical::StageId stage, uint16_t kind);

}  // namespace coterie::simulation

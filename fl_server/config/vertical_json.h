// The part of a configuration about a coordinator of vertical jobs.
#pragma once

#include "fl_server/json/json_reader.h"
#include "fl_server/settings/vertical_settings.h"

namespace coterie {

// What is missing or wrong becomes a problem of `reader`.
VerticalSettings read_vertical(JsonReader reader);

}  // namespace coterie

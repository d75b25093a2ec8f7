// The settings of a split network in a manifest.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "vertical/split/split_settings.h"

namespace coterie {

// The object "split". What is left out has the setting's default.
void read_split(JsonReader& reader, vertical::SplitSettings& split);
nlohmann::ordered_json split_json(const vertical::SplitSettings& split);

}  // namespace coterie

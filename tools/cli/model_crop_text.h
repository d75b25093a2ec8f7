// How `coterie model crop` tells what models need and what a client weighs. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tools/crop/client_build.h"
#include "tools/crop/crop_needs.h"

namespace coterie {

std::string crop_needs_text(const CropNeeds& needs);
// What to type to build from the list in the file `list`.
std::string crop_commands_text(const std::string& list);
std::string crop_client_text(const BuiltClient& client);
nlohmann::json crop_json(const CropNeeds& needs, const std::optional<BuiltClient>& client);

}  // namespace coterie

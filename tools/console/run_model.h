// A run's model.cotf as the console's page asks for it (docs/openapi.json). It reads the file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/console/folder_files.h"

namespace coterie {

// Errors: those of the file.
Result<nlohmann::json> run_model_graph(const FolderFiles& files, const std::string& model);
// `query`: "limit=24&after=0". Errors: also invalid_argument.
Result<nlohmann::json> run_model_parameters(const FolderFiles& files, const std::string& model, std::string_view query);

}  // namespace coterie

// The job key download (scheduler/job/download_rules.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fl_server/json/json_reader.h"
#include "scheduler/job/download_settings.h"

namespace coterie {

// Ranges are for validate(settings) to judge.
void read_download(JsonReader& reader, DownloadSettings& settings);
// Left out where it says nothing: a server of the version before, beside this one, does not know the key.
void add_download(nlohmann::json& job, const DownloadSettings& settings);

}  // namespace coterie

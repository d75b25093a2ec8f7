// What the watch of a training found, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace coterie {

class Watch;

// "watch: nothing found in 14 looks", or a table of at most 80 columns.
std::string watch_text(const Watch& watch);
nlohmann::json watch_json(const Watch& watch);
Status write_watch_report(const Watch& watch, const std::string& path);

}  // namespace coterie

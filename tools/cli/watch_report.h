// What the watch of a training found, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "base/result.h"

namespace coterie {

class Watch;
class WatchHits;
struct WatchHit;

// A row each, at most 80 columns.
std::string hits_table(std::span<const WatchHit> hits);
// "watch: nothing found in 14 looks", or a table.
std::string watch_text(const WatchHits& hits, uint64_t looks);
std::string watch_text(const Watch& watch);
nlohmann::json watch_json(const Watch& watch);
Status write_watch_report(const Watch& watch, const std::string& path);

}  // namespace coterie

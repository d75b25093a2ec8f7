// The check of a watch as a command names it, by the rules of watch files. Pure.
#pragma once

#include "device_sdk/watch/watch_plan.h"
#include "tools/debug/command.h"

namespace coterie {

// One check, or those of recommended_watch(). Errors: those of parse_watch; invalid_argument where a number has no
// setting, and the check more than one threshold, or where recommended_watch() is to be changed.
Result<std::vector<WatchedCheck>> checks_of(const DebugCommand& command);

// "dead_relu on gate* dead_share_above 0.95 steps 50": what it is, as it may be written again.
std::string words_of(const WatchedCheck& watched);

}  // namespace coterie

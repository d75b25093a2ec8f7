// `--watch` of a demo: which checks its devices ask of their trainings, in one word.
#pragma once

#include <string_view>

#include "base/result.h"
#include "proto/messages/watch_settings.h"

namespace coterie {

// "recommended", "dead_relu,label_drift" or either with "every=N" behind it. invalid_argument: every is no number, or
// there is nothing in front of it; names and ranges are for problems_of(training) to judge.
Result<WatchSettings> parse_watch_option(std::string_view text);

}  // namespace coterie

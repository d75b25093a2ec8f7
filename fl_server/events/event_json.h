// An event as its readers see it: one line of JSON.
#pragma once

#include <string>

#include "fl_server/events/event.h"

namespace coterie {

// {"job": ..., "time": ..., and what the event says}. Rounds have the job's number and their attempt.
std::string event_json(const Event& event);

}  // namespace coterie

// What an event of a job says of the round under way. Pure.
#pragma once

#include <optional>

#include "base/result.h"
#include "tools/admin/event_parser.h"
#include "tools/admin/round_report.h"

namespace coterie {

// Brings `live` (none: no round is under way) up to what the event says. False: it tells more than that, as that a
// round or the job has ended or that events were missed, or it is of another round than `live`: the server is to be
// asked. An event of a kind that is not known says nothing. Errors: malformed.
Result<bool> bring_up_to_date(std::optional<RoundReport>& live, const SentEvent& event);

}  // namespace coterie

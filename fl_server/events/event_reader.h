// EventReader: who reads events, and how far it has read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/ids.h"
#include "fl_server/events/event_filter.h"
#include "fl_server/events/event_id.h"

namespace coterie {

struct OfJob {
  JobId job;
  Population population = {};  // of the job
  bool is_known = false;       // where the scheduler does not have the job, it is over; otherwise it may be new
};

struct EventReader {
  std::variant<OfJob, OfTenant> of;
  std::optional<EventId> read = {};  // what it has had (Last-Event-ID); none: nothing, and it wants none that are past
  std::string told = {};             // the data of the `round` that it was told last
  std::shared_ptr<void> place = {};  // among the streams; held while the stream lives
};

}  // namespace coterie

// EventReader: who reads a job's events, and how far it has read.
#pragma once

#include <memory>
#include <optional>

#include "base/ids.h"
#include "fl_server/events/event_id.h"

namespace coterie {

struct EventReader {
  JobId job;
  Population population;             // of the job
  bool is_over = false;              // the job, as the store has it
  std::optional<EventId> read = {};  // Last-Event-ID
  std::shared_ptr<void> place = {};  // among the streams; held while the stream lives
};

}  // namespace coterie

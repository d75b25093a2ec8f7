// LogSubscriber: events as log lines, under the same names. Events that would only repeat a line, or that come with
// every batch of updates, have none.
#pragma once

#include "fl_server/events/event_hub.h"

namespace coterie {

class LogSubscriber final : public EventSubscriber {
 public:
  void happened(const Event& event) override;
};

}  // namespace coterie

// TenantEventStream: what the stream of all jobs that a tenant sees says, one piece after the other.
//
// A reader that begins hears `begin`, so that it has an id from which it can go on. Then comes each event of the
// tenant's jobs, once and in order. Whoever falls behind the log, or was connected to another process, gets
// `events_missed` and goes on from the newest event. While others' jobs alone have events, an id comes now and then
// without an event: a reader that is told nothing does not fall behind. The stream has no end of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fl_server/events/event_hub.h"
#include "fl_server/events/event_pieces.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/net/event_source.h"

namespace coterie {

class TenantEventStream final : public EventSource {
 public:
  // So many events of others, and the reader is told the number of the last: a tenth of what the log keeps.
  static constexpr uint64_t kPassedOverMax = kEventsMax / 10;

  // `reader` reads a tenant. `hub` outlives this.
  TenantEventStream(EventHub& hub, EventReader reader);

  std::optional<std::string> next() override;
  bool has_more() const override { return has_more_; }
  void when_ready(std::function<void()> wake) override { watch_ = hub_.watch(std::move(wake)); }

 private:
  EventHub& hub_;
  const std::shared_ptr<void> place_;
  bool begins_;
  EventPieces events_;
  uint64_t told_seq_;  // of the last id that the reader has
  bool has_more_ = false;
  std::unique_ptr<EventHub::Watch> watch_;
};

}  // namespace coterie

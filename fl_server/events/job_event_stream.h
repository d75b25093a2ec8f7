// JobEventStream: what a job's stream of events says, one piece after the other.
//
// First every event that the reader has not had; behind the last of them, in the same piece, `round`: where the round
// under way stands, if that has changed (devices waiting, devices selected and updates accepted change too often to be
// events). Whoever falls behind the log, or was connected to another process, gets `events_missed` and goes on from the
// next `round`. When the scheduler has the job no more and all is told, `over`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fl_server/events/event_hub.h"
#include "fl_server/events/event_pieces.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/events/job_now.h"
#include "fl_server/net/event_source.h"

namespace coterie {

class JobEventStream final : public EventSource {
 public:
  // Nothing: the scheduler does not have this job. Asked on the connection's thread, must not block.
  using Look = std::function<std::optional<JobNow>()>;

  // `reader` reads one job. `hub`, and what `look` works on, outlive this.
  JobEventStream(EventHub& hub, EventReader reader, Look look);

  std::optional<std::string> next() override;
  bool has_more() const override { return has_more_; }
  void when_ready(std::function<void()> wake) override { watch_ = hub_.watch(std::move(wake)); }

 private:
  std::string missed();
  std::string round(const JobNow& now);

  EventHub& hub_;
  const JobId job_;
  const std::shared_ptr<void> place_;
  const Look look_;
  EventPieces events_;
  std::string told_;  // the last `round`
  bool is_known_;
  bool is_over_ = false, has_more_ = false;
  std::unique_ptr<EventHub::Watch> watch_;
};

}  // namespace coterie

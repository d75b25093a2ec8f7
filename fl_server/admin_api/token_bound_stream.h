// TokenBoundStream: a stream of events that ends when the token does that it was asked for with: nothing is told to
// whoever would be refused by then. The connection asks every kHeartbeatEvery at the least.
#pragma once

#include <atomic>
#include <memory>

#include "base/os/clock.h"
#include "fl_server/net/event_source.h"

namespace coterie {

class TokenBoundStream final : public EventSource {
 public:
  // `stands`: AdminAuthenticator::watch of the token.
  TokenBoundStream(std::shared_ptr<EventSource> events, std::shared_ptr<const std::atomic<bool>> stands, WallTime ends)
      : events_(std::move(events)), stands_(std::move(stands)), ends_(ends) {}

  std::optional<std::string> next() override {
    if (!*stands_ || os::wall_now() >= ends_) return std::nullopt;
    return events_->next();
  }
  bool has_more() const override { return events_->has_more(); }
  void when_ready(std::function<void()> wake) override { events_->when_ready(std::move(wake)); }

 private:
  const std::shared_ptr<EventSource> events_;
  const std::shared_ptr<const std::atomic<bool>> stands_;
  const WallTime ends_;
};

}  // namespace coterie

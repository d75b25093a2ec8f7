// RemoteEvents: a stream of events on a node that does not lead: asks the one that leads, over the peer plane,
// and passes on what it says. The other side: fl_server/fleet/peer_events.h.
//
// One question is out at a time, held there until something happens. The stream ends when nobody answers: the client
// asks again, this node or another, and Last-Event-ID says where it stood.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fl_server/events/event_reader.h"
#include "fl_server/fleet/peer_client.h"
#include "fl_server/net/event_source.h"

namespace coterie {

class RemoteEvents final : public EventSource {
 public:
  // `client` outlives this. `owner_url`: where the one that leads is, not empty.
  RemoteEvents(PeerClient& client, std::string owner_url, EventReader reader);
  ~RemoteEvents() override;

  std::optional<std::string> next() override;
  bool has_more() const override { return is_over_; }  // its end
  void when_ready(std::function<void()> wake) override;

 private:
  // Between this and the client's thread, which may answer when this is gone.
  struct Mailbox {
    std::mutex mutex;
    std::optional<Result<PeerAnswer>> answer;
    std::function<void()> wake;  // none: nobody waits any more
  };
  void ask();
  std::nullopt_t end();
  // malformed: it is no piece of a stream.
  Status remember(const std::string& text);

  PeerClient& client_;
  const std::string owner_url_;
  EventReader reader_;
  bool is_out_ = false, is_over_ = false;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
};

}  // namespace coterie

// PeerService: what other servers of the fleet may ask of the one that keeps the sessions of secure aggregation. Its
// own listener, with certificates on both sides; no device and no operator gets here.
//
//   POST /peer/v1/cohorts/{round}.{attempt}/message   a message of a device (fl_server/fleet/cohort_frames.h)
//   POST /peer/v1/cohorts/{round}.{attempt}/{what}    what a device waits for: a frame, or 204 and Coterie-Cohort-Size
//   POST /peer/v1/cohorts/{round}.{attempt}/input     the header of a masked update that has come
//   POST /peer/v1/events                              what happens to jobs (fl_server/fleet/peer_events.h)
//
// Coterie-Device names the device, whose signature and ticket the asking server has checked; Coterie-Key is its public
// key, with a message. Refusals have the form of the device plane's.
#pragma once

#include <atomic>

#include "fl_server/fleet/peer_events.h"
#include "fl_server/net/exchange.h"
#include "fl_server/runtime/fleet_link.h"

namespace coterie {

class PeerService final : public HttpService {
 public:
  // `cohorts` and `events` outlive this; without events nobody may ask for them.
  explicit PeerService(CohortOwner& cohorts, PeerEvents* events = nullptr) : cohorts_(cohorts), events_(events) {}

  Awaitable<RoutedResponse> handle(Exchange& exchange) override;
  HttpResponse refuse(const Error& error, int status) override;

  // Whether this server keeps sessions; before it leads it has none.
  void set_owning(bool owning) { owning_ = owning; }

 private:
  struct Target {
    RoundKey key;
    DeviceId device;
  };
  Awaitable<HttpResponse> respond(Exchange& exchange, RoundKey key, std::string_view what);
  Awaitable<HttpResponse> tell_events(Exchange& exchange);
  Awaitable<HttpResponse> take_message(Exchange& exchange, Target target);
  Awaitable<HttpResponse> take_input(Exchange& exchange, Target target);
  Awaitable<HttpResponse> answer_question(Exchange& exchange, Target target, CohortQuestion question);

  CohortOwner& cohorts_;
  PeerEvents* events_;
  std::atomic<bool> owning_{false};
};

}  // namespace coterie

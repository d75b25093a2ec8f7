// PeerEvents: answers what the other nodes of a fleet ask the one that leads, for those who read events there.
//
//   POST /peer/v1/events    Coterie-Hold-Ms, and Last-Event-ID unless the reader begins.
//                           Events of a job: Coterie-Job, Coterie-Population, Coterie-Job-Known (1 or 0); the body is
//                           the data of the last `round` that the reader was told.
//                           Events of all jobs that a tenant sees: Coterie-Tenant, "*" for those of every tenant.
//
// The answer is the next piece of the stream (JobEventStream, TenantEventStream) as text, or 204 if nothing has
// happened within the hold. Who asks has checked who reads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "fl_server/events/event_hub.h"
#include "fl_server/events/event_reader.h"
#include "fl_server/events/job_now.h"
#include "fl_server/net/event_source.h"
#include "fl_server/net/exchange.h"

namespace coterie {

class PeerEvents {
 public:
  static constexpr uint32_t kQuestionsMax =
      8192;  // at a time, of all nodes: of sixteen with as many streams as they take
  using Look = std::function<std::optional<JobNow>(const JobId& job, const Population& population)>;

  // `hub`, and what `look` works on, outlive this. `look` must not block.
  PeerEvents(EventHub& hub, Look look) : hub_(hub), look_(std::move(look)) {}

  // invalid input: malformed; too many questions: rate_limited.
  Awaitable<Result<std::string>> answer(Exchange& exchange);

 private:
  std::unique_ptr<EventSource> stream_of(EventReader reader);

  EventHub& hub_;
  const Look look_;
  // Shared with those who ask: the last of them may end after this.
  const std::shared_ptr<std::atomic<uint32_t>> questions_ = std::make_shared<std::atomic<uint32_t>>(0);
};

}  // namespace coterie

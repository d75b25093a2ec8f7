// PeerEvents: answers what the other nodes of a fleet ask the one that leads, for those who read a job's events there.
//
//   POST /peer/v1/events    Coterie-Job, its Coterie-Population, Coterie-Job-Known (1 or 0), Coterie-Hold-Ms, and
//                           Last-Event-ID unless the reader begins; the body is the data of the last `round` it was
//                           told
//
// The answer is the next piece of the job's stream (JobEventStream) as text, or 204 if nothing has happened within the
// hold. Who asks has checked who reads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "fl_server/events/job_event_stream.h"
#include "fl_server/net/exchange.h"

namespace coterie {

class PeerEvents {
 public:
  static constexpr uint32_t kQuestionsMax = 256;  // at a time, of all nodes
  using Look = std::function<std::optional<JobNow>(const JobId& job, const Population& population)>;

  // `hub`, and what `look` works on, outlive this. `look` must not block.
  PeerEvents(EventHub& hub, Look look) : hub_(hub), look_(std::move(look)) {}

  // invalid input: malformed; too many questions: rate_limited.
  Awaitable<Result<std::string>> answer(Exchange& exchange);

 private:
  EventHub& hub_;
  const Look look_;
  // Shared with those who ask: the last of them may end after this.
  const std::shared_ptr<std::atomic<uint32_t>> questions_ = std::make_shared<std::atomic<uint32_t>>(0);
};

}  // namespace coterie

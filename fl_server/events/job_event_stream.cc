#include "fl_server/events/job_event_stream.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "fl_server/events/event_json.h"

namespace coterie {
namespace {

// In one piece. More would only lie in memory until the reader has taken it: the log keeps the rest.
constexpr size_t kEventsPerPiece = 100;

}  // namespace

JobEventStream::JobEventStream(EventHub& hub, Reader reader, Look look)
    : hub_(hub),
      reader_(std::move(reader)),
      look_(std::move(look)),
      read_(reader_.read ? *reader_.read : hub_.newest()),
      told_(reader_.told),
      is_known_(reader_.is_known) {}

std::optional<std::string> JobEventStream::next() {
  if (is_over_) return std::nullopt;
  // The present first, the log behind it: what has led to the present is then in the log, so that nothing is left to
  // tell of a job that the scheduler has no more, and no `round` is told before the events that led there.
  const std::optional<JobNow> now = look_();
  const EventPage page = hub_.after(read_, reader_.job, kEventsPerPiece);
  std::string text;
  if (page.missed) {
    text = missed(page.seq);
  } else {
    for (const auto& event : page.events) {
      read_.seq = event->seq;
      text += event_text(read_.text(), event::kind(event->what), event_json(*event));
    }
    read_.seq = page.seq;
    if (!page.events.empty()) {
      is_known_ = true;  // one of its events: if the scheduler does not have it, then not any more
      return text;
    }
  }
  if (now) {
    is_known_ = true;
    return text + round(*now);
  }
  if (!is_known_) return text;  // it was made a moment ago: the scheduler has yet to hear of it
  is_over_ = true;
  return text + event_text(read_.text(), "over", nlohmann::json{{"job", reader_.job.value()}}.dump());
}

std::string JobEventStream::missed(uint64_t newest) {
  read_ = {.epoch = hub_.epoch(), .seq = newest};
  told_.clear();  // whatever was told before: the reader needs to hear where things stand
  return event_text(read_.text(), "events_missed", nlohmann::json{{"job", reader_.job.value()}}.dump());
}

std::string JobEventStream::round(const JobNow& now) {
  nlohmann::json json = {{"job", reader_.job.value()}, {"waiting", now.waiting}};
  if (now.round) {
    json["round"] = now.round->number;
    json["attempt"] = now.round->key.attempt.value();
    json["state"] = to_string(now.round->state);
    json["selected"] = now.selected;
    json["accepted"] = now.accepted;
  }
  std::string text = json.dump();
  if (text == told_) return {};
  told_ = std::move(text);
  return event_text(read_.text(), "round", told_);
}

}  // namespace coterie

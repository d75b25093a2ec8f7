#include "fl_server/events/job_event_stream.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace coterie {

JobEventStream::JobEventStream(EventHub& hub, EventReader reader, Look look)
    : hub_(hub),
      job_(std::get<OfJob>(reader.of).job),
      place_(std::move(reader.place)),
      look_(std::move(look)),
      events_(hub, job_, reader.read ? *std::move(reader.read) : hub.newest()),
      told_(std::move(reader.told)),
      is_known_(std::get<OfJob>(reader.of).is_known) {}

std::optional<std::string> JobEventStream::next() {
  has_more_ = false;
  if (is_over_) return std::nullopt;
  // The present first, the log behind it: what has led to the present is then in the log, so that nothing is left to
  // tell of a job that the scheduler has no more, and no `round` is told before the events that led there.
  const std::optional<JobNow> now = look_();
  EventPieces::Piece piece = events_.next();
  std::string text = piece.missed ? missed() : std::move(piece.text);
  if (piece.told > 0) is_known_ = true;  // one of its events: if the scheduler does not have it, then not any more
  if (piece.has_more) {
    has_more_ = true;
    return text;
  }
  if (now) {
    is_known_ = true;
    return text + round(*now);
  }
  if (!is_known_) return text;  // it was made a moment ago: the scheduler has yet to hear of it
  is_over_ = has_more_ = true;  // the end of the stream is left to tell
  return text + event_text(events_.read().text(), "over", nlohmann::json{{"job", job_.value()}}.dump());
}

std::string JobEventStream::missed() {
  told_.clear();  // whatever was told before: the reader needs to hear where things stand
  return event_text(events_.read().text(), "events_missed", nlohmann::json{{"job", job_.value()}}.dump());
}

std::string JobEventStream::round(const JobNow& now) {
  nlohmann::json json = {{"job", job_.value()}, {"waiting", now.waiting}};
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
  return event_text(events_.read().text(), "round", told_);
}

}  // namespace coterie

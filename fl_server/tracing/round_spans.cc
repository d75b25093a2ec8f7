#include "fl_server/tracing/round_spans.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "secure/crypto/digest.h"

namespace coterie {
namespace {

int64_t count(uint64_t value) { return static_cast<int64_t>(value); }

}  // namespace

std::vector<Span> RoundSpans::take(const Event& event) {
  return std::visit(
      [&]<typename What>(const What& what) -> std::vector<Span> {
        if constexpr (std::is_same_v<What, event::RoundOpened>) {
          begin(event, what.round);
        } else if constexpr (std::is_same_v<What, event::RoundCollecting>) {
          begin_phase(what.round, "collecting", event.time);
        } else if constexpr (std::is_same_v<What, event::RoundExtended>) {
          add_moment(what.round, {event.time, "extended", {}});
        } else if constexpr (std::is_same_v<What, event::UpdatesAccepted>) {
          add_moment(what.round, {event.time, "updates accepted", {{"coterie.updates", count(what.total)}}});
        } else if constexpr (std::is_same_v<What, event::RoundFrozen>) {
          begin_phase(what.round, "finalizing", event.time);
        } else if constexpr (std::is_same_v<What, event::FinalizeFailed>) {
          add_moment(what.round, {event.time, "finalize failed", {{"coterie.reason", what.reason}}});
        } else if constexpr (std::is_same_v<What, event::RoundFailed>) {
          if (Attempt* const attempt = find(what.round)) attempt->front().error = what.reason;
          return end(what.round, event.time);
        } else if constexpr (std::is_same_v<What, event::RoundDone>) {
          if (Attempt* const attempt = find(what.round)) {
            std::vector<Attribute>& said = attempt->front().attributes;
            said.emplace_back("coterie.updates", count(what.updates));
            said.emplace_back("coterie.model_version", count(what.version.value()));
            if (what.evaluation_loss) said.emplace_back("coterie.evaluation_loss", *what.evaluation_loss);
            if (what.evaluation_accuracy) said.emplace_back("coterie.evaluation_accuracy", *what.evaluation_accuracy);
          }
          return end(what.round, event.time);
        }
        return {};
      },
      event.what);
}

void RoundSpans::begin(const Event& event, const event::RoundName& round) {
  if (attempts_.size() >= kAttemptsMax && !attempts_.contains(round.key)) attempts_.erase(attempts_.begin());
  Span root = span_of(round.key, 0, "round", event.time);
  root.attributes = {{"coterie.job", event.job.value()},
                     {"coterie.round", count(round.number)},
                     {"coterie.attempt", count(round.key.attempt.value())}};
  if (!event.tenant.empty()) root.attributes.emplace_back("coterie.tenant", event.tenant);
  attempts_[round.key] = {std::move(root)};
  begin_phase(round, "selecting", event.time);
}

RoundSpans::Attempt* RoundSpans::find(const event::RoundName& round) {
  const auto found = attempts_.find(round.key);
  return found == attempts_.end() ? nullptr : &found->second;
}

void RoundSpans::begin_phase(const event::RoundName& round, std::string name, WallTime time) {
  Attempt* const attempt = find(round);
  if (attempt == nullptr || attempt->back().name == name) return;
  if (attempt->size() > 1) attempt->back().end = time;
  Span phase = span_of(round.key, static_cast<uint8_t>(attempt->size()), std::move(name), time);
  phase.parent = attempt->front().id;
  attempt->push_back(std::move(phase));
}

void RoundSpans::add_moment(const event::RoundName& round, Span::Moment moment) {
  Attempt* const attempt = find(round);
  if (attempt == nullptr || attempt->back().moments.size() >= kMomentsMax) return;
  attempt->back().moments.push_back(std::move(moment));
}

std::vector<Span> RoundSpans::end(const event::RoundName& round, WallTime time) {
  const auto found = attempts_.find(round.key);
  if (found == attempts_.end()) return {};
  Attempt spans = std::move(found->second);
  attempts_.erase(found);
  spans.front().end = time;
  spans.back().end = time;
  // A wall clock that was set back in between: no span ends before it begins.
  for (Span& span : spans) span.end = std::max(span.begin, span.end);
  return spans;
}

// Ids that nobody has to remember: the digest of whose they are.
Span RoundSpans::span_of(const RoundKey& key, uint8_t place, std::string name, WallTime begin) const {
  const std::string whose = life_ + "/" + std::to_string(key.round.value()) + "/" + std::to_string(key.attempt.value());
  const Digest trace = content_digest(as_bytes(whose));
  const Digest id = content_digest(as_bytes(whose + "/" + std::to_string(place)));
  Span span{.name = std::move(name), .begin = begin, .end = begin};
  std::copy_n(trace.bytes.begin(), span.trace.size(), span.trace.begin());
  std::copy_n(id.bytes.begin(), span.id.size(), span.id.begin());
  return span;
}

}  // namespace coterie

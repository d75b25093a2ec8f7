#include "fl_server/tracing/round_spans.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "secure/crypto/digest.h"

namespace coterie {
namespace {

int64_t count(uint64_t value) { return static_cast<int64_t>(value); }

// The places of calls among an attempt's spans begin behind those of its phases.
constexpr size_t kFirstCall = 100;

}  // namespace

std::vector<Span> RoundSpans::take(const Event& event) {
  return std::visit(
      [&]<typename What>(const What& what) -> std::vector<Span> {
        if constexpr (std::is_same_v<What, event::RoundOpened>) {
          begin(event, what.round);
        } else if constexpr (std::is_same_v<What, event::RoundCollecting>) {
          begin_phase(what.round, "collecting", event.time);
        } else if constexpr (std::is_same_v<What, event::RoundExtended>) {
          add_moment(what.round, {since_1970(event.time), "extended", {}});
        } else if constexpr (std::is_same_v<What, event::UpdatesAccepted>) {
          add_moment(what.round,
                     {since_1970(event.time), "updates accepted", {{"coterie.updates", count(what.total)}}});
        } else if constexpr (std::is_same_v<What, event::RoundFrozen>) {
          begin_phase(what.round, "finalizing", event.time);
        } else if constexpr (std::is_same_v<What, event::FinalizeFailed>) {
          add_moment(what.round, {since_1970(event.time), "finalize failed", {{"coterie.reason", what.reason}}});
        } else if constexpr (std::is_same_v<What, event::RoundFailed>) {
          if (Attempt* const attempt = find(what.round)) attempt->spans.front().error = what.reason;
          return end(what.round, event.time);
        } else if constexpr (std::is_same_v<What, event::RoundDone>) {
          if (Attempt* const attempt = find(what.round)) {
            std::vector<Attribute>& said = attempt->spans.front().attributes;
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
  Span root = phase_span(round.key, 0, "round", event.time);
  root.attributes = {{"coterie.job", event.job.value()},
                     {"coterie.round", count(round.number)},
                     {"coterie.attempt", count(round.key.attempt.value())}};
  if (!event.tenant.empty()) root.attributes.emplace_back("coterie.tenant", event.tenant);
  attempts_[round.key] = {.spans = {std::move(root)}};
  begin_phase(round, "selecting", event.time);
}

RoundSpans::Attempt* RoundSpans::find(const event::RoundName& round) {
  const auto found = attempts_.find(round.key);
  return found == attempts_.end() ? nullptr : &found->second;
}

void RoundSpans::begin_phase(const event::RoundName& round, std::string name, WallTime time) {
  Attempt* const attempt = find(round);
  if (attempt == nullptr || attempt->spans.back().name == name) return;
  std::vector<Span>& spans = attempt->spans;
  if (spans.size() > 1) spans.back().end = since_1970(time);
  Span phase = phase_span(round.key, spans.size(), std::move(name), time);
  phase.parent = spans.front().id;
  spans.push_back(std::move(phase));
}

void RoundSpans::add_moment(const event::RoundName& round, Span::Moment moment) {
  Attempt* const attempt = find(round);
  if (attempt == nullptr || attempt->spans.back().moments.size() >= kMomentsMax) return;
  attempt->spans.back().moments.push_back(std::move(moment));
}

std::vector<Span> RoundSpans::end(const event::RoundName& round, WallTime time) {
  const auto found = attempts_.find(round.key);
  if (found == attempts_.end()) return {};
  Attempt attempt = std::move(found->second);
  attempts_.erase(found);
  std::vector<Span>& spans = attempt.spans;
  spans.front().end = spans.back().end = since_1970(time);
  // A wall clock that was set back in between: no span ends before it begins.
  for (Span& span : spans) span.end = std::max(span.begin, span.end);
  if (attempt.calls_in_all > 0) spans.front().attributes.emplace_back("coterie.calls", count(attempt.calls_in_all));
  const Ended& ended = ended_.emplace_back(Ended{.key = round.key, .spans = spans});
  for (size_t i = 0; i < attempt.calls.size(); ++i) spans.push_back(call_span(ended, i, attempt.calls[i]));
  if (ended_.size() > kEndedMax) ended_.pop_front();
  return std::move(spans);
}

std::vector<Span> RoundSpans::take_call(const RoundKey& key, const StoreCall& call) {
  if (const auto found = attempts_.find(key); found != attempts_.end()) {
    keep_longest(found->second, call);
    return {};
  }
  const auto ended = std::find_if(ended_.rbegin(), ended_.rend(), [&](const Ended& each) { return each.key == key; });
  if (ended == ended_.rend() || ended->late_calls >= kLateCallsMax) return {};
  return {call_span(*ended, kCallsMax + ended->late_calls++, {call, ended->spans.size()})};
}

void RoundSpans::keep_longest(Attempt& attempt, const StoreCall& call) {
  ++attempt.calls_in_all;
  std::vector<Call>& calls = attempt.calls;
  if (calls.size() >= kCallsMax) {
    const auto shortest = std::ranges::min_element(calls, {}, [](const Call& each) { return each.of.took; });
    if (call.took <= shortest->of.took) return;
    calls.erase(shortest);
  }
  calls.push_back({call, attempt.spans.size()});
}

// Below the last phase that had begun; what opens a round began before all of them. Phases have milliseconds, so that
// the next one may seem to have begun first: none does that begins behind the call's return.
Span RoundSpans::call_span(const Ended& ended, size_t place, const Call& call) const {
  Span span = span_of(call.of, stores_);
  const Span* parent = &ended.spans.front();
  for (size_t i = 0; i < call.spans; ++i) {
    if (ended.spans[i].begin <= call.of.began) parent = &ended.spans[i];
  }
  span.trace = parent->trace;
  span.parent = parent->id;
  span.id = id_of(ended.key, kFirstCall + place);
  return span;
}

// Ids that nobody has to remember: the digest of whose they are.
std::string RoundSpans::name_of(const RoundKey& key) const {
  return life_ + "/" + std::to_string(key.round.value()) + "/" + std::to_string(key.attempt.value());
}

SpanId RoundSpans::id_of(const RoundKey& key, size_t place) const {
  const Digest digest = content_digest(as_bytes(name_of(key) + "/" + std::to_string(place)));
  SpanId id{};
  std::copy_n(digest.bytes.begin(), id.size(), id.begin());
  return id;
}

Span RoundSpans::phase_span(const RoundKey& key, size_t place, std::string name, WallTime begin) const {
  const Digest trace = content_digest(as_bytes(name_of(key)));
  Span span{.id = id_of(key, place), .name = std::move(name), .begin = since_1970(begin), .end = since_1970(begin)};
  std::copy_n(trace.bytes.begin(), span.trace.size(), span.trace.begin());
  return span;
}

}  // namespace coterie

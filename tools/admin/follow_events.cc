#include "tools/admin/follow_events.h"

namespace coterie {
namespace {

bool may_pass(ErrorCode code) { return code == ErrorCode::unavailable || code == ErrorCode::timed_out; }

// Following is a chain of streams.
class Following {
 public:
  Following(const EventsFrom& from, const TellEvents& tell) : from_(from), tell_(tell), told_(from.now()) {}

  // One stream. True: what is followed is over.
  Result<bool> go_on() {
    EventParser parser(last_id_);
    bool is_over = false, is_final = false;
    const auto sink = [&](ByteView piece) -> Status {
      is_final = true;
      COT_ASSIGN(const std::vector<SentEvent> events, parser.take(piece));
      const Result<bool> over = tell_(events);
      if (!over) {
        is_final = over.error().code() != ErrorCode::unavailable;
        return over.error();
      }
      is_final = false;
      is_over = *over;
      last_id_ = parser.last_id();
      told_ = from_.now();
      if (is_over) return Error(ErrorCode::cancelled, "enough is read");
      return {};
    };
    const Status ended = from_.read(last_id_, sink);
    if (is_over) return true;
    if (ended) return false;
    if (is_final) return ended.error();
    if (ended.error().code() == ErrorCode::rate_limited) return refused();
    if (!may_pass(ended.error().code())) return ended.error();
    if (from_.now() - told_ > kUnreachableMax) return ended.error();
    return false;
  }

  Millis rest() { return std::exchange(was_refused_, false) ? kStreamRefusedFor : kStreamAgainAfter; }

 private:
  // No stream to be had, but a server that answers: whoever listens looks for himself.
  Result<bool> refused() {
    was_refused_ = true;
    const Result<bool> over = tell_({{.id = {}, .kind = kEventsMissed, .data = "{}"}});
    if (over) {
      told_ = from_.now();
      return *over;
    }
    if (over.error().code() != ErrorCode::unavailable || from_.now() - told_ > kUnreachableMax) return over.error();
    return false;
  }

  const EventsFrom& from_;
  const TellEvents& tell_;
  std::string last_id_;
  Instant told_;  // last
  bool was_refused_ = false;
};

}  // namespace

Status follow_events(const EventsFrom& from, const TellEvents& tell) {
  Following following(from, tell);
  for (;;) {
    COT_ASSIGN(const bool is_over, following.go_on());
    if (is_over) return {};
    COT_TRY(from.wait(following.rest()));
  }
}

}  // namespace coterie

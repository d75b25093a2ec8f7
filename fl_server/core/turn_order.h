// TurnOrder: whose turn is next on a network thread that has more to do than it can at once. Pure.
//
// What was begun is gone on with, oldest request first: requests are done one after the other, not all at the same time
// and all late. Then what has just come is looked at, which costs little; then it stands in a line with what is worth
// as much (Work), of the most valuable line first: whoever has a ticket goes before those who want one, and no more of
// them are let in than can be served to the end. Whoever has waited for kWaitMax has his turn in any case, now and
// then: to be refused.
//
// A thread that is in time for everything needs no order: turns may be taken at once. (To ask for one costs a twentieth
// of the smallest request.)
//
// A request that has had kPiecesFirst turns is a long transfer. It has no preference any more and takes turns with
// newcomers, or nobody else would be served while some download 10 GB.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "fl_server/core/queue_delay.h"

namespace coterie {

// A request and the turns it has had. {} for one that has just come.
struct RequestTurns {
  Instant came{};
  uint32_t taken = 0;
  std::optional<Work> line;  // where it stands; none: it has come, or was begun
};

// Owned by one thread. `Piece` is what is done in a turn.
template <typename Piece>
class TurnOrder {
 public:
  // A turn is up to what a socket holds, some 100 KB: a body of some MB is over by then.
  static constexpr uint32_t kPiecesFirst = 64;
  // Longer than QueueDelay has patience, by default.
  static constexpr Millis kWaitMax{1'000};

  static constexpr Millis kLateFrom{10};  // a busy system makes a thread wait for less; newcomers are refused after 100
  static constexpr Millis kInTimeAfter{100};  // without having been late

  // How late the thread is for everything. Several times in kInTimeAfter.
  void observe(Millis late, Instant now) {
    if (std::max(late, delay(now)) >= kLateFrom) in_time_from_ = now + kInTimeAfter;
    is_in_time_ = now >= in_time_from_;
  }
  bool is_in_time() const { return is_in_time_; }

  void add(const RequestTurns& request, Instant now, Piece piece) {
    if (request.line) return lines_[line_of(*request.line)].push_back({now, std::move(piece)});
    if (request.taken == 0) return lines_[kHeads].push_back({now, std::move(piece)});
    if (request.taken >= kPiecesFirst) return lines_[kLast].push_back({now, std::move(piece)});
    begun_.push_back({request.came, next_order_++, std::move(piece)});
    std::push_heap(begun_.begin(), begun_.end(), &is_after);
  }
  bool empty() const { return begun_.empty() && std::none_of(lines_.begin(), lines_.end(), &is_occupied); }
  // Takes out the piece whose turn it is. Precondition: not empty().
  Piece take() {
    if (begun_.empty()) return take_first_of(*std::find_if(lines_.begin(), lines_.end(), &is_occupied));
    std::pop_heap(begun_.begin(), begun_.end(), &is_after);
    Piece piece = std::move(begun_.back().piece);
    begun_.pop_back();
    return piece;
  }
  // Whoever has waited for longer than kWaitMax, if anybody has. From time to time, before take().
  std::optional<Piece> take_forgotten(Instant now) {
    for (Line& line : lines_) {
      if (!line.empty() && now - line.front().since > kWaitMax) return take_first_of(line);
    }
    return std::nullopt;
  }
  // How long the first of the last line has waited, for whom there is least time; 0 if nobody does.
  Millis delay(Instant now) const { return lines_[kLast].empty() ? Millis(0) : now - lines_[kLast].front().since; }

 private:
  struct Waiting {
    Instant since;
    Piece piece;
  };
  struct Begun {
    Instant came;
    uint64_t order;  // of those that came in the same millisecond
    Piece piece;
  };
  using Line = std::deque<Waiting>;
  static constexpr size_t kHeads = 0, kLast = 4;
  static size_t line_of(Work work) { return kLast - static_cast<size_t>(work); }
  static_assert(static_cast<size_t>(Work::session) == kLast - 1, "a line each, after kHeads");
  static bool is_after(const Begun& a, const Begun& b) {
    return std::pair(a.came, a.order) > std::pair(b.came, b.order);
  }
  static bool is_occupied(const Line& line) { return !line.empty(); }
  static Piece take_first_of(Line& line) {
    Piece piece = std::move(line.front().piece);
    line.pop_front();
    return piece;
  }

  std::array<Line, kLast + 1> lines_;
  std::vector<Begun> begun_;  // a heap
  uint64_t next_order_ = 0;
  bool is_in_time_ = true;
  Instant in_time_from_{};  // if nothing is late until then
};

}  // namespace coterie

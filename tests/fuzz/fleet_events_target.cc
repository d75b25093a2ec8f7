// Any order of rounds, boards, reports and failures of a store that a fleet may bring its two machines: their
// invariants hold after each step, one read and one write are on their way at most, and what is posted in the end is
// what the node serves in the end.
#include <optional>
#include <set>
#include <utility>

#include "base/assert.h"
#include "scheduler/fleet/lead_machine.h"
#include "scheduler/fleet/member_machine.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

NodeReport some_node() {
  NodeReport self;
  self.node = "n";
  self.incarnation = "n/1";
  self.serves = true;
  return self;
}

class Driver {
 public:
  explicit Driver(test::EventBytes bytes)
      : bytes_(bytes), lead_(LeadSettings{}, "here", now_), member_(MemberSettings{}, some_node(), now_) {}

  void run() {
    while (!bytes_.is_over()) choose();
    // Behind the end the store answers, and all has time to go round.
    for (int turn = 0; turn < 100; ++turn) {
      while (answer()) {
      }
      pass(Millis(100));
    }
    COT_ASSERT(posted_ == served_);
  }

 private:
  void choose() {
    switch (bytes_.below(10)) {
      case 0: return post();
      case 1: return unpost();
      case 2: return step(LeadEvent(PostDue{some_key(), bytes_.below(6)}));
      case 3: return step(MemberEvent(PoolNoted{Population("p"), bytes_.below(6)}));
      case 4: return step(MemberEvent(IssuedNoted{some_key(), bytes_.below(6)}));
      case 5: return step(MemberEvent(AcceptedNoted{some_key(), bytes_.below(6)}));
      case 6: return step(MemberEvent(LookAtBoard{}));
      case 7: return pass(Millis(int64_t{bytes_.next()} * 20));
      default: (void)answer();
    }
  }

  RoundKey some_key() { return {RoundId(1 + bytes_.below(4)), Attempt(1)}; }

  void post() {
    RoundNotice notice;
    notice.key = some_key();
    notice.job = JobId(notice.key.round.value() % 2 == 0 ? "j" : "k");
    notice.population = Population("p");
    notice.state = RoundState::collecting;
    notice.ticket_count = 1 + bytes_.below(8);
    std::erase_if(posted_, [&](const RoundKey& key) { return key.round.value() % 2 == notice.key.round.value() % 2; });
    posted_.insert(notice.key);
    step(LeadEvent(PostRound{std::move(notice)}));
  }
  void unpost() {
    const RoundKey key = some_key();
    posted_.erase(key);
    step(LeadEvent(UnpostRound{key}));
  }

  void pass(Millis time) {
    now_ += time;
    if (lead_.next_deadline() <= now_) step(LeadEvent(LeadTime{}));
    if (member_.next_deadline() <= now_) step(MemberEvent(MemberTime{}));
  }

  // ---- The store answers one of what it was asked; false: there is nothing

  bool answer() {
    const bool fails = bytes_.one_in(4);
    const Error error(ErrorCode::unavailable, "no answer");
    if (const auto board = std::exchange(writing_, std::nullopt)) {
      if (!fails || bytes_.one_in(2)) board_ = *board, ++revision_;
      step(LeadEvent(BoardWritten{fails ? Status(error) : Status()}));
    } else if (const auto known = std::exchange(reading_, std::nullopt)) {
      if (fails) step(MemberEvent(BoardAnswered{.read = error}));
      else if (*known == revision_) step(MemberEvent(BoardAnswered{.read = {}}));
      else step(MemberEvent(BoardAnswered{{}, revision_, board_}));
    } else if (std::exchange(is_hearing_, false)) {
      std::vector<NodeRow> rows;
      if (said_) rows.push_back({*said_, {}, Millis(0)});
      step(LeadEvent(NodesHeard{fails ? Result<std::vector<NodeRow>>(error) : std::move(rows)}));
    } else if (const auto report = std::exchange(saying_, std::nullopt)) {
      if (fails) return true;
      said_ = *report;
      step(MemberEvent(ReportSaid{*report}));
    } else {
      return false;
    }
    return true;
  }

  void step(const LeadEvent& event) {
    const LeadEffects effects = lead_.step(event, now_);
    lead_.check();
    for (const LeadEffect& effect : effects) {
      if (const auto* write = std::get_if<WriteBoard>(&effect)) {
        COT_ASSERT(!writing_);
        writing_ = write->board;
      }
      if (std::holds_alternative<HearNodes>(effect)) {
        COT_ASSERT(!std::exchange(is_hearing_, true));
      }
    }
  }

  void step(const MemberEvent& event) {
    const MemberEffects effects = member_.step(event, now_);
    member_.check();
    for (const MemberEffect& effect : effects) {
      if (const auto* read = std::get_if<ReadBoard>(&effect)) {
        COT_ASSERT(!reading_);
        reading_ = read->known_revision;
      }
      if (const auto* say = std::get_if<SayReport>(&effect)) saying_ = say->report;
      if (const auto* serve = std::get_if<ServeRound>(&effect)) served_.insert(serve->notice.key);
      if (const auto* end = std::get_if<EndRound>(&effect)) served_.erase(end->key);
    }
  }

  test::EventBytes bytes_;
  Instant now_{};
  LeadMachine lead_;
  MemberMachine member_;
  std::set<RoundKey> posted_, served_;
  // The store, and what is on its way to it.
  PostedBoard board_;
  uint64_t revision_ = 0;
  std::optional<NodeReport> said_;
  std::optional<PostedBoard> writing_;
  std::optional<uint64_t> reading_;
  std::optional<NodeReport> saying_;
  bool is_hearing_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(coterie::test::EventBytes(data, size)).run();
  return 0;
}

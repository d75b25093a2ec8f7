#include "scheduler/fleet/lead_machine.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Lines = std::vector<std::string>;

const Population kPhones("phones");
const RoundKey kRound{RoundId(7), Attempt(1)};
const RoundKey kNext{RoundId(7), Attempt(2)};

std::string text_of(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

RoundNotice notice(const RoundKey& key = kRound, const std::string& job = "j") {
  RoundNotice round;
  round.job = JobId(job);
  round.population = kPhones;
  round.key = key;
  round.state = RoundState::collecting;
  round.ticket_count = 10;
  return round;
}

NodeRow node(const std::string& life, uint64_t waiting, uint32_t issued = 0, uint64_t accepted = 0) {
  NodeRow row;
  row.report.node = row.report.incarnation = life;
  row.report.serves = true;
  row.report.waiting = {{kPhones, waiting}};
  if (issued > 0) row.report.issued = {{kRound, issued}};
  if (accepted > 0) row.report.accepted = {{kRound, accepted}};
  return row;
}

// A lead, its effects as text. It polls every 100 ms and settles for 1,000.
class Lead {
 public:
  Lines at(int64_t ms) {
    now_ = Instant(Millis(ms));
    return step(LeadTime{});
  }
  Lines hear(std::vector<NodeRow> rows) { return step(NodesHeard{std::move(rows)}); }
  Lines deaf() { return step(NodesHeard{Error(ErrorCode::unavailable, "down")}); }
  Lines written() { return step(BoardWritten{Status()}); }
  Lines not_written() { return step(BoardWritten{Error(ErrorCode::unavailable, "down")}); }
  // Past the time to settle: the first board is written.
  void settle(std::vector<NodeRow> rows = {}) {
    at(1'000);
    hear(std::move(rows));
    written();
  }
  Lines step(const LeadEvent& event) {
    Lines lines;
    for (const LeadEffect& effect : machine_.step(event, now_)) lines.push_back(text(effect));
    return lines;
  }

 private:
  static std::string text(const LeadEffect& effect) {
    struct Visitor {
      std::string operator()(const HearNodes&) { return "hear"; }
      std::string operator()(const ForgetNodes& e) { return "forget after " + std::to_string(e.silent_for.count()); }
      std::string operator()(const TellNodes& e) { return "nodes " + std::to_string(e.nodes); }
      std::string operator()(const TellPool& e) { return e.population.value() + " " + std::to_string(e.waiting); }
      std::string operator()(const TellIssued& e) { return "issued " + text_of(e.key) + " " + std::to_string(e.total); }
      std::string operator()(const TellAccepted& e) {
        return "accepted " + text_of(e.key) + " " + std::to_string(e.total);
      }
      std::string operator()(const LookAtAccepted& e) { return "look at " + text_of(e.key); }
      std::string operator()(const WriteBoard& e) {
        std::string line = "write";
        for (const RoundNotice& round : e.board.rounds) {
          line += " " + text_of(round.key);
          for (const auto& [life, share] : e.board.shares.at(round.key))
            line += " " + life + "=" + std::to_string(share);
          if (round.updates_due) line += " due=" + std::to_string(*round.updates_due);
        }
        return line;
      }
    };
    return std::visit(Visitor{}, effect);
  }

  Instant now_{};
  LeadMachine machine_{{}, "https://a:1", Instant()};
};

TEST(LeadMachine, LeavesTheBoardStandingUntilRoundsThatGoOnAreHeardOf) {
  Lead lead;
  EXPECT_THAT(lead.at(0), ElementsAre("hear"));
  EXPECT_THAT(lead.hear({node("a", 3)}), ElementsAre("nodes 1", "phones 3"));
  EXPECT_THAT(lead.step(PostRound{notice()}), IsEmpty());
  EXPECT_THAT(lead.at(999), ElementsAre("hear"));
  EXPECT_THAT(lead.hear({node("a", 3)}), Not(Contains("write 7.1 a=10")));
  EXPECT_THAT(lead.at(1'099), ElementsAre("hear"));
  EXPECT_THAT(lead.hear({node("a", 3)}), Contains("write 7.1 a=10"));
}

TEST(LeadMachine, TellsTheSchedulerWhatChanged) {
  Lead lead;
  lead.settle({node("a", 3)});
  lead.step(PostRound{notice()});
  lead.written();
  lead.at(1'100);
  EXPECT_THAT(lead.hear({node("a", 3), node("b", 4)}), ElementsAre("nodes 2", "phones 7", "write 7.1 a=5 b=5"));
  lead.written();
  lead.at(1'200);
  EXPECT_THAT(lead.hear({node("a", 3, 2, 1), node("b", 4)}),
              ElementsAre("issued 7.1 2", "accepted 7.1 1", "look at 7.1"));
  lead.at(1'300);
  EXPECT_THAT(lead.hear({node("a", 3, 2, 1), node("b", 4)}), IsEmpty()) << "the same again";
  lead.at(1'400);
  EXPECT_THAT(lead.hear({}), ElementsAre("nodes 0", "phones 0", "write 7.1 a=5 b=5")) << "who is gone does not wait";
}

TEST(LeadMachine, LooksAtTheRowsFromTimeToTime) {
  Lead lead;
  lead.settle({node("a", 3)});
  lead.step(PostRound{notice()});
  lead.written();
  lead.at(2'000);
  EXPECT_THAT(lead.hear({node("a", 3)}), ElementsAre("look at 7.1")) << "a node may have died before it could say";
  lead.at(2'100);
  EXPECT_THAT(lead.hear({node("a", 3)}), IsEmpty());
}

TEST(LeadMachine, AnAttemptTakesThePlaceOfTheOneBefore) {
  Lead lead;
  lead.settle({node("a", 3)});
  EXPECT_THAT(lead.step(PostRound{notice()}), ElementsAre("write 7.1 a=10"));
  lead.written();
  EXPECT_THAT(lead.step(PostRound{notice({RoundId(9), Attempt(1)}, "k")}), ElementsAre("write 7.1 a=10 9.1 a=10"));
  lead.written();
  EXPECT_THAT(lead.step(PostRound{notice(kNext)}), ElementsAre("write 9.1 a=10 7.2 a=10"));
  lead.written();
  EXPECT_THAT(lead.step(UnpostRound{kRound}), IsEmpty()) << "it is gone already";
  EXPECT_THAT(lead.step(UnpostRound{kNext}), ElementsAre("write 9.1 a=10"));
}

TEST(LeadMachine, WhatIsDueStaysWhenARoundChanges) {
  Lead lead;
  lead.settle({node("a", 3)});
  lead.step(PostRound{notice()});
  lead.written();
  EXPECT_THAT(lead.step(PostDue{kRound, 9}), ElementsAre("write 7.1 a=10 due=9"));
  lead.written();
  RoundNotice frozen = notice();
  frozen.state = RoundState::frozen;
  EXPECT_THAT(lead.step(PostRound{frozen}), ElementsAre("write 7.1 a=0 due=9")) << "and no tickets are left to give";
}

TEST(LeadMachine, OneWriteIsOnItsWayAtATime) {
  Lead lead;
  lead.settle({node("a", 3)});
  EXPECT_THAT(lead.step(PostRound{notice()}), ElementsAre("write 7.1 a=10"));
  EXPECT_THAT(lead.step(PostDue{kRound, 9}), IsEmpty());
  EXPECT_THAT(lead.written(), ElementsAre("write 7.1 a=10 due=9"));
  EXPECT_THAT(lead.written(), IsEmpty());
}

TEST(LeadMachine, ABoardWhoseWritingIsInDoubtIsWrittenAgain) {
  Lead lead;
  lead.settle({node("a", 3)});
  lead.step(PostRound{notice()});
  lead.written();
  lead.step(PostDue{kRound, 9});
  EXPECT_THAT(lead.not_written(), IsEmpty()) << "at the next poll";
  lead.at(1'100);
  EXPECT_THAT(lead.deaf(), ElementsAre("write 7.1 a=10 due=9")) << "though nobody was heard";
}

TEST(LeadMachine, ForgetsNodesThatAreLongGone) {
  Lead lead;
  lead.settle();
  lead.at(60'000);
  EXPECT_THAT(lead.hear({}), ElementsAre("forget after 3600000"));
  lead.at(60'100);
  EXPECT_THAT(lead.hear({}), IsEmpty());
}

}  // namespace
}  // namespace coterie

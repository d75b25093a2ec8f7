#include "scheduler/fleet/member_machine.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

const RoundKey kRound{RoundId(7), Attempt(1)};
const RoundKey kNext{RoundId(8), Attempt(1)};

std::string text_of(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

RoundNotice notice(const RoundKey& key = kRound, std::optional<uint64_t> due = {}) {
  RoundNotice round;
  round.job = JobId("j");
  round.population = Population("phones");
  round.key = key;
  round.state = RoundState::collecting;
  round.goal_count = 20;
  round.updates_due = due;
  return round;
}

PostedBoard board(std::vector<RoundNotice> rounds = {}, uint32_t share = 12) {
  PostedBoard posted{.owner_url = "https://a:1", .rounds = std::move(rounds), .nodes = 2};
  for (const RoundNotice& round : posted.rounds) posted.shares[round.key] = {{"life", share}, {"other", 3}};
  return posted;
}

// A member, its effects as text. Time goes on by one poll a tick.
class Member {
 public:
  explicit Member(bool serves_rounds = true)
      : machine_({.poll_every = Millis(100), .say_every = Millis(1'000), .serves_rounds = serves_rounds}, self(),
                 Instant()) {}

  Lines tick(int64_t ms = 100) {
    now_ += Millis(ms);
    return step(MemberTime{});
  }
  Lines nothing_new() { return step(BoardAnswered{.read = {}}); }
  Lines unread() { return step(BoardAnswered{.read = Error(ErrorCode::unavailable, "down")}); }
  Lines read(PostedBoard posted) { return step(BoardAnswered{{}, ++revision_, std::move(posted)}); }
  // One whole poll; a report that is asked for is said.
  Lines poll(std::optional<PostedBoard> posted = {}) {
    tick();
    Lines lines = posted ? read(*posted) : nothing_new();
    said();
    return lines;
  }
  void said() {
    if (report_) step(ReportSaid{*report_});
    report_.reset();
  }
  Lines step(const MemberEvent& event) {
    Lines lines;
    for (const MemberEffect& effect : machine_.step(event, now_)) lines.push_back(text(effect));
    return lines;
  }
  const NodeReport& asked_to_say() const { return *report_; }

 private:
  static NodeReport self() {
    NodeReport report;
    report.node = "n";
    report.incarnation = "life";
    report.serves = true;
    return report;
  }
  std::string text(const MemberEffect& effect) {
    struct Visitor {
      Member& self;
      std::string operator()(const ReadBoard& e) { return "read after " + std::to_string(e.known_revision); }
      std::string operator()(const TellOwner& e) { return "owner " + e.url; }
      std::string operator()(const TellFleet& e) { return "fleet of " + std::to_string(e.nodes); }
      std::string operator()(const ServeRound& e) {
        return "serve " + text_of(e.notice.key) + " tickets=" + std::to_string(e.notice.ticket_count);
      }
      std::string operator()(const EndRound& e) { return "end " + text_of(e.key); }
      std::string operator()(const TellDue& e) { return "due " + text_of(e.key) + " " + std::to_string(e.total); }
      std::string operator()(const CountLacking&) { return "count lacking"; }
      std::string operator()(const SayReport& e) {
        self.report_ = e.report;
        return "say";
      }
      std::string operator()(const BoardLookedAt&) { return "looked"; }
    };
    return std::visit(Visitor{*this}, effect);
  }

  Instant now_{};
  uint64_t revision_ = 0;
  std::optional<NodeReport> report_;
  MemberMachine machine_;
};

TEST(MemberMachine, ReadsTheBoardAndSaysHowItIs) {
  Member member;
  EXPECT_THAT(member.tick(0), ElementsAre("read after 0", "count lacking"));
  EXPECT_THAT(member.read(board({notice()})),
              ElementsAre("owner https://a:1", "fleet of 2", "serve 7.1 tickets=12", "say"));
  member.said();
  EXPECT_THAT(member.tick(), ElementsAre("read after 1", "count lacking"));
  EXPECT_THAT(member.nothing_new(), IsEmpty()) << "nothing to say, and it has been heard of lately";
  EXPECT_THAT(member.tick(50), IsEmpty()) << "not yet time";
}

TEST(MemberMachine, OneWithoutADevicePlaneKnowsTheOwnerAlone) {
  Member member(false);
  EXPECT_THAT(member.tick(0), ElementsAre("read after 0"));
  EXPECT_THAT(member.read(board({notice()})), ElementsAre("owner https://a:1", "say"));
}

TEST(MemberMachine, ServesARoundAgainOnlyIfItChanged) {
  Member member;
  member.poll(board({notice()}));
  EXPECT_THAT(member.poll(board({notice()})), ElementsAre("owner https://a:1", "fleet of 2"));
  EXPECT_THAT(member.poll(board({notice()}, 13)), testing::Contains("serve 7.1 tickets=13"));
  RoundNotice frozen = notice();
  frozen.state = RoundState::frozen;
  EXPECT_THAT(member.poll(board({frozen}, 13)), testing::Contains("serve 7.1 tickets=13"));
  RoundNotice signed_anew = frozen;
  signed_anew.assignment.signature = {1};
  EXPECT_THAT(member.poll(board({signed_anew}, 13)), testing::Contains("serve 7.1 tickets=13"));
}

TEST(MemberMachine, TellsWhatIsDueOnceAndAgainAfterServing) {
  Member member;
  member.poll(board({notice()}));
  EXPECT_THAT(member.poll(board({notice(kRound, 9)})), ElementsAre("owner https://a:1", "fleet of 2", "due 7.1 9"));
  EXPECT_THAT(member.poll(board({notice(kRound, 9)})), ElementsAre("owner https://a:1", "fleet of 2"));
  EXPECT_THAT(member.poll(board({notice(kRound, 9)}, 13)),
              ElementsAre("owner https://a:1", "fleet of 2", "serve 7.1 tickets=13", "due 7.1 9"));
}

TEST(MemberMachine, EndsWhatIsNotOnTheBoardBeforeItServesWhatIs) {
  Member member;
  member.poll(board({notice()}));
  EXPECT_THAT(member.poll(board({notice(kNext)})),
              ElementsAre("owner https://a:1", "fleet of 2", "end 7.1", "serve 8.1 tickets=12"));
}

TEST(MemberMachine, ANodeWithoutAShareServesARoundWithoutTickets) {
  Member member;
  PostedBoard posted = board({notice()});
  posted.shares[kRound] = {{"other", 3}};
  EXPECT_THAT(member.poll(posted), testing::Contains("serve 7.1 tickets=0"));
  posted.shares.clear();
  EXPECT_THAT(member.poll(posted), ElementsAre("owner https://a:1", "fleet of 2")) << "none, and a share of none";
}

TEST(MemberMachine, SaysWhatChangedAtTheNextPoll) {
  Member member;
  member.poll(board({notice()}));
  EXPECT_THAT(member.step(PoolNoted{Population("phones"), 5}), IsEmpty());
  member.step(IssuedNoted{kRound, 3});
  member.step(LackingNoted{kRound, 2});
  member.step(AcceptedNoted{kRound, 1});
  member.tick();
  EXPECT_THAT(member.nothing_new(), ElementsAre("say"));
  EXPECT_EQ(member.asked_to_say().waiting.at(Population("phones")), 5u);
  EXPECT_EQ(member.asked_to_say().issued.at(kRound), 3u);
  EXPECT_EQ(member.asked_to_say().lacking.at(kRound), 2u);
  EXPECT_EQ(member.asked_to_say().accepted.at(kRound), 1u);
}

TEST(MemberMachine, SaysAgainWhatTheStoreDidNotTake) {
  Member member;
  member.tick(0);
  EXPECT_THAT(member.nothing_new(), ElementsAre("say"));
  member.tick();
  EXPECT_THAT(member.nothing_new(), ElementsAre("say")) << "the first was not answered";
  member.said();
  member.tick();
  EXPECT_THAT(member.nothing_new(), IsEmpty());
  member.tick(1'000);
  EXPECT_THAT(member.nothing_new(), ElementsAre("say")) << "it lives";
}

TEST(MemberMachine, WhoIsSteeredAndTheLoadAloneAreNoNews) {
  Member member;
  member.poll();
  member.step(SteeredNoted{Population("phones"), 70});
  EXPECT_THAT(member.poll(), IsEmpty());
}

TEST(MemberMachine, ANodeThatCannotReadTheBoardSaysNothing) {
  Member member;
  member.poll();
  member.step(PoolNoted{Population("phones"), 5});
  member.tick();
  EXPECT_THAT(member.unread(), IsEmpty());
  EXPECT_THAT(member.tick(), ElementsAre("read after 0", "count lacking"));
  EXPECT_THAT(member.nothing_new(), ElementsAre("say"));
}

TEST(MemberMachine, ForgetsTheCountsOfARoundThatIsOverAndHearsOfNoneAfterwards) {
  Member member;
  member.poll(board({notice()}));
  member.step(IssuedNoted{kRound, 3});
  member.poll(board());
  member.step(IssuedNoted{kRound, 4});
  member.step(LackingNoted{kRound, 4});
  member.step(AcceptedNoted{kRound, 4});
  member.step(PoolNoted{Population("phones"), 5});
  member.tick();
  EXPECT_THAT(member.nothing_new(), ElementsAre("say"));
  EXPECT_THAT(member.asked_to_say().issued, IsEmpty());
  EXPECT_THAT(member.asked_to_say().lacking, IsEmpty());
  EXPECT_THAT(member.asked_to_say().accepted, IsEmpty());
}

TEST(MemberMachine, LooksAtTheBoardWhenAsked) {
  Member member;
  member.poll();
  EXPECT_THAT(member.step(LookAtBoard{}), ElementsAre("read after 0"));
  EXPECT_THAT(member.read(board({notice()})),
              ElementsAre("owner https://a:1", "fleet of 2", "serve 7.1 tickets=12", "looked"));
  member.step(LookAtBoard{});
  EXPECT_THAT(member.unread(), ElementsAre("looked")) << "in vain: whoever asked finds out";
}

TEST(MemberMachine, ALookDuringAReadIsAnsweredByTheNext) {
  Member member;
  member.tick(0);
  EXPECT_THAT(member.step(LookAtBoard{}), IsEmpty()) << "one read at a time";
  EXPECT_THAT(member.nothing_new(), ElementsAre("read after 0", "say"));
  EXPECT_THAT(member.nothing_new(), ElementsAre("looked"));
}

TEST(MemberMachine, ANodeThatLeavesSaysSoAtOnce) {
  Member member;
  member.poll();
  EXPECT_THAT(member.step(DrainMember{}), ElementsAre("say"));
  EXPECT_TRUE(member.asked_to_say().draining);
}

}  // namespace
}  // namespace coterie

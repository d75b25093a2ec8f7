// How a job of three parties comes to run: a link for each pair, and one to the matcher.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/unit/vertical_coordinator/machine_fixture.h"

namespace coterie::vertical {
namespace {

using test::read_terms;

class CoordinatorRingTest : public test::CoordinatorMachineTest {
 protected:
  void SetUp() override {
    CoordinatorLimits limits = small();
    limits.waiting_max = 3;
    machine_ = CoordinatorMachine(limits, read_terms, {});
    Request request = submit();
    request.manifest += " third";
    EXPECT_EQ(refusal(third_, request), "accepted");
  }
  void approve_by_all() {
    for (const Somebody* who : parties()) EXPECT_EQ(refusal(*who, approval(*who)), "accepted");
  }
  static Request to(PartyIndex peer) {
    Request request = about(RequestKind::join);
    request.peer = peer;
    return request;
  }
  std::array<const Somebody*, 3> parties() const { return {&label_, &feature_, &third_}; }
  // All links but those to the matcher; the connections by (party, peer).
  std::map<std::pair<PartyIndex, PartyIndex>, ConnectionId> run_ring() {
    std::map<std::pair<PartyIndex, PartyIndex>, ConnectionId> ends;
    const auto comes = [&](PartyIndex party, PartyIndex peer) {
      const std::string_view heard = refusal(*parties()[party], to(peer));
      ends[{party, peer}] = connection_;
      return heard;
    };
    EXPECT_EQ(comes(2, 0), "waits");
    EXPECT_EQ(comes(0, 1), "waits");
    EXPECT_EQ(comes(1, 0), "accepted");
    EXPECT_EQ(comes(1, 2), "waits");
    EXPECT_EQ(comes(0, 2), "accepted");
    EXPECT_EQ(comes(2, 1), "accepted");
    return ends;
  }

  Somebody third_ = somebody({"third"});
};

TEST_F(CoordinatorRingTest, NeedsTheApprovalOfEachParty) {
  EXPECT_EQ(refusal(label_, approval(label_)), "accepted");
  EXPECT_EQ(refusal(feature_, approval(feature_)), "accepted");
  EXPECT_EQ(job().state, JobState::created);
  EXPECT_EQ(refusal(label_, to(1)), "not_approved");
  EXPECT_EQ(refusal(stranger_, approval(stranger_)), "not_a_party");
  EXPECT_EQ(refusal(third_, approval(third_)), "accepted");
  EXPECT_EQ(job().state, JobState::approved);
}

TEST_F(CoordinatorRingTest, RunsWhenAllHaveCome) {
  approve_by_all();
  EXPECT_EQ(refusal(label_, to(1)), "waits");
  EXPECT_EQ(refusal(feature_, to(0)), "waits") << "the third one has not come";
  EXPECT_EQ(job().state, JobState::approved);
  const ConnectionId feature = connection_;
  EXPECT_EQ(refusal(third_, to(0)), "waits") << "the label party is busy with its first link";
  const ConnectionId third = connection_;
  EXPECT_EQ(job().state, JobState::running);
  ASSERT_EQ(effects_.pairs.size(), 1u);
  EXPECT_EQ(effects_.pairs[0].second, feature);
  EXPECT_EQ(refusal(label_, to(2)), "accepted");
  ASSERT_EQ(effects_.pairs.size(), 1u);
  EXPECT_EQ(effects_.pairs[0].first, connection_);
  EXPECT_EQ(effects_.pairs[0].second, third);
  EXPECT_EQ(refusal(third_, to(1)), "waits");
  EXPECT_EQ(refusal(feature_, to(2)), "accepted");
  EXPECT_EQ(effects_.pairs[0].first, connection_) << "the lower number is the first, whoever comes last";
}

TEST_F(CoordinatorRingTest, RefusesLinksThatAreNone) {
  approve_by_all();
  EXPECT_EQ(refusal(label_, about(RequestKind::join)), "malformed_request") << "to whom?";
  EXPECT_EQ(refusal(label_, to(0)), "malformed_request") << "itself";
  EXPECT_EQ(refusal(label_, to(3)), "malformed_request");
  EXPECT_EQ(refusal(feature_, to(2)), "not_running") << "a later link";
  EXPECT_EQ(refusal(feature_, to(kMatcher)), "not_running");
  run_ring();
  EXPECT_EQ(refusal(label_, about(RequestKind::deal)), "malformed_request") << "a regression has two parties";
}

TEST_F(CoordinatorRingTest, MatchesAllOnceARun) {
  approve_by_all();
  run_ring();
  EXPECT_EQ(refusal(third_, to(kMatcher)), "waits");
  const ConnectionId third = connection_;
  EXPECT_EQ(refusal(third_, to(kMatcher)), "already_joined");
  EXPECT_EQ(refusal(label_, to(kMatcher)), "waits");
  // It goes and comes again.
  machine_.closed(connection_, now_);
  EXPECT_EQ(refusal(label_, to(kMatcher)), "waits");
  const ConnectionId label = connection_;
  EXPECT_EQ(refusal(feature_, to(kMatcher)), "accepted");
  EXPECT_TRUE(heard(third) && heard(label));
  ASSERT_EQ(effects_.matchings.size(), 1u);
  EXPECT_EQ(effects_.matchings[0].parties, (std::vector<ConnectionId>{label, connection_, third}));
  EXPECT_EQ(refusal(feature_, to(kMatcher)), "already_joined");
  // What they say to it keeps the run, and is not counted as carried.
  now_.instant += small().idle_time - Millis(1);
  machine_.relayed(label, 9, now_);
  EXPECT_EQ(machine_.next_deadline(), now_.instant + small().idle_time);
  EXPECT_EQ(job().parties[0].relayed_bytes, 0u);
  effects_ = machine_.matching_failed({'J'}, "desk_differs", now_);
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_EQ(job().reason, "desk_differs");
  EXPECT_EQ(effects_.closes.size(), 9u) << "six ends of links, and three to the matcher";
}

TEST_F(CoordinatorRingTest, ClosesTheMatcherWithTheLastLink) {
  approve_by_all();
  const auto ends = run_ring();
  std::vector<ConnectionId> matched;
  for (const Somebody* who : parties()) {
    EXPECT_THAT(refusal(*who, to(kMatcher)), testing::AnyOf("waits", "accepted"));
    matched.push_back(connection_);
  }
  for (const auto& [end, connection] : ends) {
    EXPECT_THAT(effects_.closes, testing::IsEmpty());
    effects_ = machine_.closed(connection, now_);
  }
  EXPECT_EQ(effects_.closes, matched) << "what it holds would have no place among the runs";
  EXPECT_EQ(refusal(label_, to(kMatcher)), "not_running");
}

TEST_F(CoordinatorRingTest, WhoWaitsForTheMatcherLearnsThatAPartyIsLost) {
  approve_by_all();
  const auto ends = run_ring();
  EXPECT_EQ(refusal(third_, to(kMatcher)), "waits");
  const ConnectionId third = connection_;
  // The label party goes; the other two have a link still, which they do not look at.
  effects_ = machine_.closed(ends.at({0, 1}), now_);
  EXPECT_THAT(effects_.closes, testing::ElementsAre(third));
  EXPECT_EQ(refusal(feature_, to(kMatcher)), "not_running") << "not all will ask";
  EXPECT_EQ(job().state, JobState::running) << "until the others have seen it";
}

TEST_F(CoordinatorRingTest, GoesOnWhenAllHaveComeBack) {
  approve_by_all();
  auto ends = run_ring();
  machine_.relayed(ends[{2, 1}], 5, now_);
  EXPECT_EQ(job().parties[2].relayed_bytes, 5u);
  EXPECT_EQ(refusal(third_, to(0)), "already_joined") << "the others have not seen that it was lost";
  for (const auto& [end, connection] : ends) machine_.closed(connection, now_);
  EXPECT_EQ(refusal(third_, to(0)), "waits");
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(job().reason, "party_lost");
  EXPECT_EQ(refusal(label_, to(1)), "waits");
  EXPECT_EQ(refusal(feature_, to(0)), "accepted");
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(CoordinatorRingTest, APartyThatIsLostWhileLinksAreOpenedTakesTheRunWithIt) {
  approve_by_all();
  EXPECT_EQ(refusal(third_, to(0)), "waits");
  const ConnectionId third = connection_;
  EXPECT_EQ(refusal(label_, to(1)), "waits");
  const ConnectionId label = connection_;
  EXPECT_EQ(refusal(feature_, to(0)), "accepted");
  const ConnectionId feature = connection_;
  EXPECT_EQ(refusal(feature_, to(2)), "waits");
  const ConnectionId later = connection_;
  effects_ = machine_.closed(third, now_);
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(effects_.closes, (std::vector<ConnectionId>{label, feature}));
  ASSERT_TRUE(heard(later)) << "nobody comes for a later link of a run that is over";
  EXPECT_EQ(heard(later)->error().reason(), "not_running");
  run_ring();
}

TEST_F(CoordinatorRingTest, IsDoneWhenAllAre) {
  approve_by_all();
  run_ring();
  for (const Somebody* who : parties()) {
    EXPECT_EQ(job().state, JobState::running);
    EXPECT_EQ(refusal(*who, report(true)), "accepted");
  }
  EXPECT_EQ(job().state, JobState::done);
}

TEST_F(CoordinatorRingTest, AnyFeaturePartyPausesIt) {
  approve_by_all();
  run_ring();
  EXPECT_EQ(refusal(third_, about(RequestKind::pause)), "accepted");
  EXPECT_EQ(job().reason, "feature_party_paused");
  EXPECT_EQ(effects_.closes.size(), 6u);
  EXPECT_EQ(refusal(feature_, to(0)), "waits");
  EXPECT_EQ(refusal(label_, to(1)), "waits");
  EXPECT_EQ(refusal(third_, to(0)), "waits") << "it is held";
  EXPECT_EQ(refusal(third_, about(RequestKind::resume)), "accepted");
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(effects_.pairs.size(), 1u);
}

}  // namespace
}  // namespace coterie::vertical

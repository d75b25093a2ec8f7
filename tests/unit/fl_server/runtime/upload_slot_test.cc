// The slot that an upload's connection and the core share, in every order in which they can meet.
#include "fl_server/runtime/upload_slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string text_of(const UploadDecision& decision) {
  return std::holds_alternative<UploadAccepted>(decision) ? "accepted" : "refused";
}
UploadDecision accepted() { return UploadAccepted{}; }
UploadDecision refused() { return UploadRefused{Error(ErrorCode::overloaded, "full"), {}}; }

class UploadSlots : public testing::Test {
 protected:
  bool deliver() {
    return slot_.deliver([this](const UploadDecision& decision) { told_.push_back("decision: " + text_of(decision)); });
  }

  std::vector<std::string> told_;
  UploadSlot slot_{[this](const UploadAdmission& admission) {
    const auto* const decision = std::get_if<UploadDecision>(&admission);
    told_.push_back(decision == nullptr ? "admitted" : "at once: " + text_of(*decision));
  }};
};

TEST_F(UploadSlots, TellEachStepOnce) {
  slot_.admit({});
  EXPECT_TRUE(deliver()) << "the core is to have the body";
  EXPECT_THAT(told_, ElementsAre("admitted"));
  slot_.decide(accepted());
  EXPECT_THAT(told_, ElementsAre("admitted", "decision: accepted"));
  EXPECT_FALSE(slot_.abandon()) << "nothing was lost";
}

TEST_F(UploadSlots, TellADecisionAtOnceInThePlaceOfTheAdmission) {
  slot_.decide(refused());
  EXPECT_THAT(told_, ElementsAre("at once: refused"));
  EXPECT_FALSE(slot_.abandon());
}

TEST_F(UploadSlots, KeepADecisionThatIsMadeWhileTheBodyIsOnItsWay) {
  slot_.admit({});
  slot_.decide(refused());
  EXPECT_THAT(told_, ElementsAre("admitted")) << "who sends a body is told when it has come";
  EXPECT_FALSE(deliver()) << "the core wants no body any more";
  EXPECT_THAT(told_, ElementsAre("admitted", "decision: refused"));
}

TEST_F(UploadSlots, TellTheCoreOfALossOnceAndOnlyWhileTheBodyIsDue) {
  EXPECT_FALSE(slot_.abandon()) << "its admission is still due";
  slot_.admit({});
  EXPECT_TRUE(slot_.abandon());
  EXPECT_FALSE(slot_.abandon());
  slot_.decide(accepted());
  EXPECT_THAT(told_, ElementsAre("admitted")) << "nobody is there to be told";
}

TEST_F(UploadSlots, LoseNothingThatWasDelivered) {
  slot_.admit({});
  EXPECT_TRUE(deliver());
  EXPECT_FALSE(slot_.abandon());
  slot_.decide(accepted());
  EXPECT_THAT(told_, ElementsAre("admitted", "decision: accepted"));
}

TEST_F(UploadSlots, AreSilentWithoutACore) {
  slot_.admit({});
  slot_.close();
  EXPECT_FALSE(slot_.abandon());
  EXPECT_FALSE(deliver());
  EXPECT_THAT(told_, ElementsAre("admitted"));
}

// A callback holds the coroutine that holds the slot: without this neither would ever go.
TEST(UploadSlotRace, GivesUpItsCallbacksWhenItIsClosed) {
  const auto held = std::make_shared<int>(7);
  UploadSlot slot([held](const UploadAdmission&) {});
  EXPECT_EQ(held.use_count(), 2);
  slot.close();
  EXPECT_EQ(held.use_count(), 1);
}

// The two sides at the same time: the decision is told exactly once, and a loss is told or decided, never both.
TEST(UploadSlotRace, TellsTheDecisionExactlyOnce) {
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) {
    std::atomic<int> told{0};
    UploadSlot slot([](const UploadAdmission&) {});
    slot.admit({});
    std::thread core([&] { slot.decide(accepted()); });
    slot.deliver([&](const UploadDecision&) { ++told; });
    core.join();
    EXPECT_EQ(told, 1) << "run " << run;
  }
}

}  // namespace
}  // namespace coterie

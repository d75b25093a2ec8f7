#include "fl_server/fleet/fleet_text.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

NodeReport report() {
  NodeReport report;
  report.url = "https://10.0.0.7:8445";
  report.serves = true;
  report.draining = true;
  report.load = {.bytes = 0.25, .connections = 0.5, .waiters = 0.125, .queue_delay = 0};
  report.waiting = {{Population("phones"), 7}, {Population("tablets \"new\""), 0}};
  report.steered = {{Population("phones"), 107}};
  report.issued = {{{RoundId(7), Attempt(2)}, 40}};
  report.lacking = {{{RoundId(7), Attempt(2)}, 3}};
  report.accepted = {{{RoundId(7), Attempt(2)}, UINT64_MAX}};
  return report;
}

PostedBoard board() {
  PostedRound round{.job = JobId("j1"),
                    .population = Population("phones"),
                    .key = {RoundId(7), Attempt(2)},
                    .number = 5,
                    .state = RoundState::frozen,
                    .weight = 3,
                    .goal_count = 20,
                    .updates_due = 19,
                    .assignment = {1, 2, 250},
                    .shares = {{"life a", 12}, {"life b", 0}}};
  PostedRound other = round;
  other.job = JobId("j2");
  other.updates_due.reset();
  other.state = RoundState::collecting;
  return {
      .owner_url = "https://a:1", .rounds = {round, other}, .nodes = 3, .steered = {{Population("phones"), 70'000}}};
}

TEST(FleetText, AReportComesBackAsItWasSaid) { EXPECT_EQ(*node_report_from_text(to_text(report())), report()); }

TEST(FleetText, ABoardComesBackAsItWasWritten) {
  EXPECT_EQ(*board_from_text(to_text(board())), board());
  EXPECT_EQ(*board_from_text(""), PostedBoard()) << "nobody has led yet";
}

TEST(FleetText, WhatANewerServerSaysBesidesIsPassedOver) {
  EXPECT_EQ(node_report_from_text(R"({"serves": true, "mood": "good", "load": {"steam": 1}})")->serves, true);
  EXPECT_EQ(board_from_text(R"({"owner_url": "u", "rounds": [], "moon": 1})")->owner_url, "u");
}

TEST(FleetText, WhatNobodyWroteIsRefused) {
  for (const char* text :
       {"", "[]", "{", "null", R"({"waiting": 1})", R"({"waiting": {"p": -1}})", R"({"waiting": {"p": 1.5}})",
        R"({"serves": 1})", R"({"url": 1})", R"({"issued": {"7": 1}})", R"({"issued": {"7.x": 1}})",
        R"({"issued": {"7.1": 4294967296}})", R"({"load": {"bytes": "much"}})"}) {
    EXPECT_ERROR(node_report_from_text(text), ErrorCode::data_loss, "fleet") << text;
  }
  const std::string good = to_text(board());
  for (const char* text :
       {"[]", "{", "{}", R"({"rounds": {}})", R"({"rounds": [1]})", R"({"rounds": [{"round": "1.1"}]})",
        R"({"rounds": [{"round": "1.1", "state": "done"}]})", R"({"rounds": [{"round": "1", "state": "frozen"}]})",
        R"({"rounds": [{"round": "1.1", "state": "frozen", "assignment": "*"}]})",
        R"({"rounds": [{"round": "1.1", "state": "frozen", "shares": {"a": -1}}]})"}) {
    EXPECT_ERROR(board_from_text(text), ErrorCode::data_loss, "fleet") << text;
  }
  for (size_t cut = 1; cut < good.size(); ++cut) {
    EXPECT_ERROR(board_from_text(good.substr(0, cut)), ErrorCode::data_loss, "fleet") << cut;
  }
}

}  // namespace
}  // namespace coterie

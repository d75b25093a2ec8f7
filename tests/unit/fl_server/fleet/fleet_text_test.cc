#include "fl_server/fleet/fleet_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "proto/codec/codec.h"
#include "scheduler/selection/selection_registry.h"
#include "tests/support/matchers.h"
#include "tests/support/messages.h"
#include "tests/support/sample_values.h"

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

// No field has the value that it has when nobody sets it.
RoundNotice notice() {
  const Assignment assignment{.job = JobId("j1"),
                              .round = {RoundId(7), Attempt(2)},
                              .model_version = ModelVersion(4),
                              .plan = test::counting_digest(3),
                              .model = test::counting_digest(9),
                              .plan_bytes = 77,
                              .model_bytes = 1'000,
                              .not_after = WallTime(Millis(1'700'000'000'123)),
                              .ticket = {},
                              .signature = Bytes(64, 0x5a)};
  Plan plan = test::MessageTraits<Plan>::samples().typical;
  plan.ledger = {.records = 6, .head = test::counting_digest(1)};
  return {.job = JobId("j1"),
          .population = Population("phones"),
          .key = {RoundId(7), Attempt(2)},
          .number = 5,
          .state = RoundState::frozen,
          .assignment = assignment,
          .plan = plan,
          .weight = 3,
          .ticket_count = 26,
          .extensions = 2,
          .goal_count = 20,
          .keeps_updates = true,
          .selection = SelectionSettings::of("utility").with("exploration", 0.25f),
          .updates_due = 19};
}

PostedBoard board() {
  RoundNotice other = notice();
  other.job = other.assignment.job = JobId("j2");
  other.key = other.assignment.round = {RoundId(8), Attempt(1)};
  other.keeps_updates = false;
  other.updates_due.reset();
  other.state = RoundState::collecting;
  return {.owner_url = "https://a:1",
          .rounds = {notice(), other},
          .shares = {{notice().key, {{"life a", 12}, {"life b", 0}}}, {other.key, {}}},
          .nodes = 3,
          .steered = {{Population("phones"), 70'000}}};
}

Result<Plan> no_plan(const Assignment&) { return Error(ErrorCode::not_found, "no blob was to be asked for"); }
Result<PostedBoard> read(std::string_view text) { return board_from_text(text, no_plan); }

TEST(FleetText, AReportComesBackAsItWasSaid) { EXPECT_EQ(*node_report_from_text(to_text(report())), report()); }

TEST(FleetText, ABoardComesBackAsItWasWritten) {
  EXPECT_EQ(*read(to_text(board())), board());
  EXPECT_EQ(*read(""), PostedBoard()) << "nobody has led yet";
}

TEST(FleetText, EveryFieldOfANoticeSurvives) {
  const PostedBoard posted = *read(to_text(board()));
  // Every field by name: one that is added does not compile before it is looked at here.
  const auto& [job, population, key, number, state, assignment, plan, weight, tickets, extensions, goal, keeps,
               selection, due] = posted.rounds[0];
  const RoundNotice unset;
  EXPECT_TRUE(job == notice().job && job != unset.job);
  EXPECT_TRUE(population == notice().population && population != unset.population);
  EXPECT_TRUE(key == notice().key && key != unset.key);
  EXPECT_TRUE(number == notice().number && number != unset.number);
  EXPECT_TRUE(state == notice().state && state != unset.state);
  EXPECT_TRUE(assignment == notice().assignment && assignment != unset.assignment);
  EXPECT_TRUE(plan == notice().plan && plan != unset.plan);
  EXPECT_TRUE(weight == notice().weight && weight != unset.weight);
  EXPECT_TRUE(tickets == notice().ticket_count && tickets != unset.ticket_count);
  EXPECT_TRUE(extensions == notice().extensions && extensions != unset.extensions);
  EXPECT_TRUE(goal == notice().goal_count && goal != unset.goal_count);
  EXPECT_TRUE(keeps == notice().keeps_updates && keeps != unset.keeps_updates);
  EXPECT_TRUE(selection == notice().selection && selection != unset.selection);
  EXPECT_TRUE(due == notice().updates_due && due != unset.updates_due);
}

// A newer leader may post what this server does not know.
TEST(FleetText, ARuleThatNobodyHereKnowsIsTheUniformDraw) {
  nlohmann::json document = nlohmann::json::parse(to_text(board()));
  document["rounds"][0]["selection"] = "by_horoscope";
  EXPECT_EQ(read(document.dump())->rounds[0].selection, SelectionSettings());
  document["rounds"][0]["selection"] = "utility";
  for (const auto& values : {nlohmann::json("x"), nlohmann::json({1, 2}), nlohmann::json({0, 0, 0, -1, 1e300})}) {
    document["rounds"][0]["selection_values"] = values;
    const SelectionSettings settings = read(document.dump())->rounds[0].selection;
    ASSERT_EQ(settings.values.size(), settings.rule->settings.size());
    for (size_t i = 0; i < settings.values.size(); ++i) {
      EXPECT_TRUE(settings.rule->settings[i].range.admits(settings.values[i])) << values;
    }
  }
}

// A server of the version before reads these keys and no others: none may go, or mean another thing.
TEST(FleetText, AServerOfTheVersionBeforeFindsWhatItReads) {
  const nlohmann::json entry = nlohmann::json::parse(to_text(board())).at("rounds").at(0);
  nlohmann::json known = entry;
  for (const char* added : {"plan", "ticket_count", "extensions", "keeps_updates", "selection", "selection_values"}) {
    EXPECT_EQ(known.erase(added), 1u) << added;
  }
  Assignment assignment = notice().assignment;
  assignment.ticket = {0};
  EXPECT_EQ(known, (nlohmann::json{{"job", "j1"},
                                   {"population", "phones"},
                                   {"round", "7.2"},
                                   {"number", 5},
                                   {"state", "frozen"},
                                   {"weight", 3},
                                   {"goal_count", 20},
                                   {"updates_due", 19},
                                   {"assignment", to_base64url(encode(assignment))},
                                   {"shares", {{"life a", 12}, {"life b", 0}}}}));
}

// What that server wrote has no plan: the assignment names it.
TEST(FleetText, ABoardOfTheVersionBeforeIsRead) {
  nlohmann::json text = nlohmann::json::parse(to_text(board()));
  for (nlohmann::json& entry : text["rounds"]) entry.erase("plan"), entry.erase("ticket_count");
  const auto plan_of = [](const Assignment& assignment) -> Result<Plan> {
    EXPECT_EQ(assignment.plan, notice().assignment.plan);
    return notice().plan;
  };
  PostedBoard expected = board();
  for (RoundNotice& round : expected.rounds) round.ticket_count = 0;  // nodes go by their shares
  EXPECT_EQ(*board_from_text(text.dump(), plan_of), expected);
  EXPECT_ERROR(read(text.dump()), ErrorCode::not_found, "no blob");
}

TEST(FleetText, ARoundWithTheAssignmentOfAnotherIsRefused) {
  PostedBoard wrong = board();
  wrong.rounds[0].assignment.round.attempt = Attempt(3);
  EXPECT_ERROR(read(to_text(wrong)), ErrorCode::data_loss, "assignment of another");
  wrong = board();
  wrong.rounds[0].assignment.job = JobId("j9");
  EXPECT_ERROR(read(to_text(wrong)), ErrorCode::data_loss, "assignment of another");
}

TEST(FleetText, WhatANewerServerSaysBesidesIsPassedOver) {
  EXPECT_EQ(node_report_from_text(R"({"serves": true, "mood": "good", "load": {"steam": 1}})")->serves, true);
  EXPECT_EQ(read(R"({"owner_url": "u", "rounds": [], "moon": 1})")->owner_url, "u");
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
        R"({"rounds": [{"round": "1.1", "state": "frozen"}]})"}) {
    EXPECT_ERROR(read(text), ErrorCode::data_loss, "fleet") << text;
  }
  for (const auto& [key, value] : {std::pair<const char*, nlohmann::json>{"shares", {{"a", -1}}},
                                   {"plan", "*"},
                                   {"plan", "AAAA"},
                                   {"assignment", "AAAA"},
                                   {"ticket_count", -1},
                                   {"extensions", -1},
                                   {"updates_due", "many"}}) {
    nlohmann::json wrong = nlohmann::json::parse(good);
    wrong["rounds"][0][key] = value;
    EXPECT_ERROR(read(wrong.dump()), ErrorCode::data_loss, "fleet") << key << " " << value;
  }
  for (size_t cut = 1; cut < good.size(); ++cut) {
    EXPECT_ERROR(read(good.substr(0, cut)), ErrorCode::data_loss, "fleet") << cut;
  }
}

}  // namespace
}  // namespace coterie

// coterie.h against the one table of errors: every status has its row, every row its status.
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <regex>
#include <string>

#include "base/error.h"
#include "base/os/file.h"
#include "coterie.h"
#include "device_sdk/agent/agent.h"
#include "proto/messages/refusal.h"
#include "tests/support/paths.h"

namespace coterie {
namespace {

// "round_closed" -> 8, as the header spells the enumerators that begin with `prefix`.
std::map<std::string, int> enumerators(const std::string& prefix) {
  const Result<Bytes> header = os::read_file(test::source_dir() + "/device_sdk/include/coterie.h", 1 << 20);
  EXPECT_TRUE(header.has_value());
  const std::string text(as_text(*header));
  const std::regex pattern("\\b" + prefix + "([A-Z0-9_]+) = ([0-9]+)");
  std::map<std::string, int> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    std::string name = (*it)[1];
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    found[name] = std::stoi((*it)[2]);
  }
  return found;
}

std::map<std::string, int> statuses() {
  std::map<std::string, int> all = enumerators("COTERIE_");
  std::erase_if(all, [](const auto& entry) {
    return entry.first.starts_with("activity_") || entry.first.starts_with("attestation_") ||
           entry.first.starts_with("security_") || entry.first.starts_with("answer_") ||
           entry.first.starts_with("thermal_") || entry.first.starts_with("hold_");
  });
  return all;
}

TEST(StatusTable, HasARowForEveryStatusOfTheHeaderAndNoOther) {
  std::map<std::string, int> expected{{"ok", 0}};
  for (const ErrorTraits& row : all_error_traits()) expected[std::string(row.name)] = row.c_status;
  EXPECT_EQ(statuses(), expected);
}

TEST(StatusTable, NamesEveryStatusAsTheHeaderSpellsIt) {
  for (const auto& [name, value] : statuses()) EXPECT_EQ(coterie_status_name(static_cast<coterie_status>(value)), name);
}

TEST(StatusTable, GivesNoValueTwice) {
  std::map<int, std::string> by_value;
  for (const auto& [name, value] : statuses()) EXPECT_TRUE(by_value.emplace(value, name).second) << name;
  EXPECT_EQ(by_value.size(), all_error_traits().size() + 1);
}

TEST(ActivityTable, IsTheAgentsAndNamedAsTheHeaderSpellsIt) {
  const std::map<std::string, int> activities = enumerators("COTERIE_ACTIVITY_");
  EXPECT_EQ(activities.size(), static_cast<size_t>(AgentProgress::Activity::held));
  for (const auto& [name, value] : activities) {
    EXPECT_EQ(coterie_activity_name(static_cast<coterie_activity>(value)), name);
  }
  EXPECT_EQ(activities.at("stopped"), static_cast<int>(AgentProgress::Activity::stopped));
  EXPECT_EQ(activities.at("aggregated"), static_cast<int>(AgentProgress::Activity::aggregated));
  EXPECT_EQ(activities.at("trained"), static_cast<int>(AgentProgress::Activity::trained));
  EXPECT_EQ(activities.at("waiting"), static_cast<int>(AgentProgress::Activity::waiting));
}

TEST(HoldTable, IsTheReasonsInTheirOrderAndNamedAsTheHeaderSpellsThem) {
  std::map<std::string, int> expected{{"none", 0}};
  int value = 0;
  for (const std::string_view reason : refusal_reason::kHolds) expected[std::string(reason)] = ++value;
  EXPECT_EQ(enumerators("COTERIE_HOLD_"), expected);
  for (const auto& [name, hold] : expected) EXPECT_EQ(coterie_hold_name(static_cast<coterie_hold>(hold)), name);
  EXPECT_STREQ(coterie_hold_name(static_cast<coterie_hold>(15)), "unknown");
}

}  // namespace
}  // namespace coterie

#include "tools/cli/server_alarms.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace coterie {
namespace {

using nlohmann::json;

TEST(ServerAlarms, SayWhatToDo) {
  const json server = {
      {"alarms",
       {{{"name", "CoterieSessionsFail"},
         {"severity", "ticket"},
         {"of", "too_few"},
         {"since", "2026-11-29T14:00:05.120Z"},
         {"summary", "sessions of secure aggregation come to nothing"},
         {"action", "Too many devices vanish: raise dropout_share and over_selection, or lower cohort_min."},
         {"guide", "docs/operating/privacy.md#rounds-that-hide-updates"}}}}};
  EXPECT_EQ(alarms_text(server),
            "\nALARM (ticket) CoterieSessionsFail of too_few, since 2026-11-29 14:00:05\n"
            "  sessions of secure aggregation come to nothing\n"
            "  Too many devices vanish: raise dropout_share and over_selection, or lower\n"
            "  cohort_min.\n"
            "  docs/operating/privacy.md#rounds-that-hide-updates\n");
  EXPECT_EQ(alarms_text({{"alarms", json::array()}}), "");
  EXPECT_EQ(alarms_text(json::object()), "") << "the caller is not told";
}

TEST(ServerAlarms, CountRefusalsByReason) {
  const json server = {{"refusals",
                        {{"plans", {{"cohort_min", 2}}},
                         {"held", json::object()},
                         {"requests", {{"queue_delay", 1}, {"device_rate", 20}}},
                         {"updates", {{"storage_full", 3}}}}}};
  EXPECT_EQ(refusals_text(server),
            "\nREFUSED            REASON        TIMES\n"
            "request            device_rate      20\n"
            "request            queue_delay       1\n"
            "plan, by a device  cohort_min        2\n"
            "update             storage_full      3\n");
  EXPECT_EQ(refusals_text(json::object()), "");
}

TEST(ServerAlarms, KeepTheWidthWhateverAServerSends) {
  const json server = {{"alarms", {{{"name", std::string(200, 'n')}, {"summary", "\x1b[2J"}}}},
                       {"refusals", {{"plans", {{std::string(200, 'r'), 1}}}}}};
  std::istringstream lines(alarms_text(server) + refusals_text(server));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u);
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace coterie

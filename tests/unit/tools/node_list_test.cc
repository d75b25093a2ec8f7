#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/cli/node_commands.h"

namespace coterie {
namespace {

TEST(NodeList, SaysWhichNodeLeads) {
  const nlohmann::json waits = {{"node", "a"},
                                {"leads", false},
                                {"serves_devices", true},
                                {"started", "2026-11-30T01:02:03.456Z"},
                                {"seconds_since_heard", 0.42},
                                {"devices_waiting", 7},
                                {"load", {{"highest", 0.25}}},
                                {"rounds", nlohmann::json::array({{{"round", 1}}})}};
  nlohmann::json leads = waits;
  leads["node"] = "scheduler";
  leads["leads"] = true;
  leads["serves_devices"] = false;
  EXPECT_EQ(nodes_text({{"nodes", {waits, leads}}}),
            "NODE       LEADS  STATE           STARTED                   HEARD  WAITING    LOAD  ROUNDS\n"
            "a                 serves devices  2026-11-30 01:02:03  0.42 s ago        7  25.0 %       1\n"
            "scheduler  leads  no devices      2026-11-30 01:02:03  0.42 s ago        7  25.0 %       1\n");
  EXPECT_EQ(nodes_text({{"nodes", nlohmann::json::array()}}),
            "no node was heard of: a server with a database of its own is no fleet\n");
}

}  // namespace
}  // namespace coterie

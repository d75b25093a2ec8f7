#include "fl_server/app/process_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/config/server_config.h"

namespace coterie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ProcessNeeds kNeeds{.memory_bytes = 1'000, .descriptors = 100};

TEST(ProcessLimits, ThatAreWideEnoughOrNotKnownAreNotMentioned) {
  EXPECT_THAT(what_does_not_fit(kNeeds, {}), IsEmpty());
  EXPECT_THAT(what_does_not_fit(kNeeds, {.address_space = 2'000, .cgroup_memory = 1'000, .descriptors = 100}),
              IsEmpty());
}

TEST(ProcessLimits, ThatAreTooLowAreNamedEachWithWhatItHasAndWhatIsWanted) {
  const auto misfits = what_does_not_fit(kNeeds, {.address_space = 1'999, .cgroup_memory = 999, .descriptors = 99});
  ASSERT_EQ(misfits.size(), 3u);
  EXPECT_EQ(misfits[0].limit, "address space");
  EXPECT_EQ(misfits[0].has, 1'999u);
  EXPECT_EQ(misfits[0].wants, 2'000u);
  EXPECT_EQ(misfits[1].limit, "memory of the cgroup");
  EXPECT_EQ(misfits[1].wants, 1'000u);
  EXPECT_EQ(misfits[2].limit, "open files");
  EXPECT_EQ(misfits[2].wants, 100u);
  EXPECT_EQ(misfits[2].settings, "*.connections_max");
}

TEST(ProcessLimits, AreComparedWithAllPlanesAndBudgetsThatTheServerHas) {
  ServerConfig config;
  const ProcessNeeds alone = needs_of(config);
  EXPECT_GE(alone.memory_bytes, config.ingest.bytes_in_flight_max + config.device.limits.bodies_bytes_max +
                                    config.admin.limits.bodies_bytes_max);
  EXPECT_GE(alone.descriptors, config.device.limits.connections_max + config.admin.limits.connections_max);
  config.store.engine = "postgres";
  EXPECT_GT(needs_of(config).descriptors, alone.descriptors) << "the peer plane";
  config.role = ServerRole::server;
  EXPECT_EQ(needs_of(config).descriptors, alone.descriptors);
  config.role = ServerRole::scheduler;
  EXPECT_LT(needs_of(config).memory_bytes, alone.memory_bytes) << "one that talks to no devices has no updates";
  config.role = ServerRole::serving;
  const ProcessNeeds silent = needs_of(config);
  config.serving = ServingConfig();
  EXPECT_GE(needs_of(config).memory_bytes, silent.memory_bytes + config.serving->bytes_max);
  EXPECT_GE(needs_of(config).descriptors, silent.descriptors + config.serving->listen.limits.connections_max);
}

TEST(CgroupMemoryFiles, AreThoseOfTheGroupAndOfAllAboveIt) {
  EXPECT_THAT(cgroup_memory_files("0::/system.slice/fl.service\n"),
              ElementsAre("/sys/fs/cgroup/system.slice/fl.service/memory.max", "/sys/fs/cgroup/system.slice/memory.max",
                          "/sys/fs/cgroup/memory.max"));
  EXPECT_THAT(cgroup_memory_files("12:pids:/a\n5:memory:/docker/x\n0::/\n"),
              ElementsAre("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
                          "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
                          "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"));
  for (const char* nothing : {"", "\n", "x", "0:", "0::", "0::a", ":::\n\n"}) {
    EXPECT_THAT(cgroup_memory_files(nothing), IsEmpty()) << nothing;
  }
}

TEST(CgroupMemoryFiles, SayANumberOrNoLimit) {
  EXPECT_EQ(parse_cgroup_limit("314572800\n"), 314'572'800u);
  EXPECT_EQ(parse_cgroup_limit("max\n"), std::nullopt);
  EXPECT_EQ(parse_cgroup_limit("12 34\n"), std::nullopt);
  EXPECT_EQ(parse_cgroup_limit(""), std::nullopt);
}

TEST(ProcessLimits, OfThisProcessAreRead) {
  const ProcessLimits limits = allowed_limits(0);
  if (limits.descriptors) EXPECT_GT(*limits.descriptors, 0u);
}

}  // namespace
}  // namespace coterie

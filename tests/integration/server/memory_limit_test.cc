// A server that may have little memory, by `ulimit -v` and in a control group, and devices that send more at once than
// fits: it lives, what it holds is bounded by its budgets, and the round is done.
#include <atomic>
#include <thread>

#include "tests/integration/support/fixture.h"
#include "tests/integration/support/memory_group.h"
#include "tests/support/sanitizer.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 1 << 20;  // 4 MiB an update, 8 MiB a sum
constexpr uint32_t kDevices = 24;    // 96 MiB of updates at once
constexpr const char* kBudgets =
    R"("threads": 2, "ingest": {"bytes_in_flight_max": 33554432},
       "device": {"connections_max": 200, "bodies_bytes_max": 8388608},
       "admin": {"connections_max": 50, "bodies_bytes_max": 67108864, "upload_bytes_max": 33554432})";
constexpr uint64_t kResidentMax = (test::kMemoryIsTheSanitizers ? 1'400ull : 288ull) << 20;
constexpr uint64_t kAddressSpaceMax = 1ull << 30;

class MemoryLimit : public ServerTest {
 protected:
  void start_confined(uint64_t address_space_bytes, const std::string& group_file) {
    auto started = ServerProcess::start({.data_dir = directory_ / "data",
                                         .config = kBudgets,
                                         .environment = {"ASAN_OPTIONS=quarantine_size_mb=1"},
                                         .address_space_bytes = address_space_bytes,
                                         .group_file = group_file});
    ASSERT_TRUE(test::is_ok(started));
    server_ = std::move(*started);
    admin_ = std::make_unique<Admin>(*server_);
  }
  void take_a_burst() {
    const auto job = admin_->create_job(flat_model(kValues), spec_for(kDevices, 2));
    ASSERT_TRUE(test::is_ok(job));
    token_ = *admin_->create_token(kDevices);
    std::atomic<uint32_t> receipts{0};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kDevices; ++i) {
      threads.emplace_back([&, i] {
        const auto device = enrolled_device();
        for (int round = 0; round < 2; ++round) {
          const auto assignment = device->wait_for_assignment(kPatience);
          ASSERT_TRUE(test::is_ok(assignment));
          const auto outcome = device->upload_until_decided(*assignment, one_hot(kValues, i));
          ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << failure_of(outcome).message();
          ++receipts;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(receipts, 2 * kDevices);
    EXPECT_TRUE(wait_for_model(2)) << server_->log();
    const uint64_t peak = server_->peak_rss_bytes();
    std::printf("%u updates of %zu MiB twice: %llu MiB at the peak\n", kDevices, kValues * 4 >> 20,
                static_cast<unsigned long long>(peak >> 20));
    EXPECT_GT(peak, 0u);
    EXPECT_LE(peak, kResidentMax);
  }
};

TEST_F(MemoryLimit, OfItsAddressSpaceBoundsABurstOfUpdates) {
  if (test::kMemoryIsTheSanitizers) {
    GTEST_SKIP() << "SKIPPED: a sanitizer reserves more address space than any `ulimit -v`; the release preset runs it";
  }
  start_confined(kAddressSpaceMax, {});
  if (!HasFailure()) take_a_burst();
}

TEST_F(MemoryLimit, OfItsControlGroupBoundsABurstOfUpdates) {
  const auto group = MemoryGroup::make(kResidentMax);
  if (!group) GTEST_SKIP() << "SKIPPED: no control group can be made: " << group.error().message();
  start_confined(0, (*group)->processes_file());
  if (!HasFailure()) take_a_burst();
  server_.reset();
}

}  // namespace
}  // namespace coterie::integration

// As many devices as a server lets in, each on a TLS connection of its own that stays: all are answered on it, again,
// and what the server holds for them is bounded. By day 200 devices, at night 10,000.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/chaos/stride.h"
#include "tests/integration/support/fixture.h"
#include "tests/support/sanitizer.h"

namespace coterie::integration {
namespace {

constexpr size_t kConnections = chaos::kIsNight ? 10'000 : 200;
constexpr size_t kBeside = 400;  // descriptors of a server for all else
constexpr size_t kThreads = 8;
constexpr size_t kAdmins = 2;  // connections that may end meanwhile, as nobody asks anything on them
constexpr uint64_t kResidentMax = 1'200ull << 20;    // of a server with 10,000
constexpr uint64_t kConnectionBytesMax = 96 * 1024;  // of memory that it has because of one

// As many as the system allows, at most `wanted`.
rlim_t raise_descriptors(rlim_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return wanted;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

class Connections : public ServerTest {
 protected:
  size_t descriptors() const {
    std::error_code ignored;
    const std::string directory = "/proc/" + std::to_string(server_->pid()) + "/fd";
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory, ignored), {}));
  }
  // Each of kThreads does its part.
  void for_each(const std::function<bool(size_t i)>& action, const char* what) {
    std::atomic<size_t> next{0}, failed{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < kConnections; i = next++) failed += action(i) ? 0 : 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, 0u) << what;
  }
};

TEST_F(Connections, OfAllDevicesThatFitStayAndCostLittle) {
  if (const rlim_t allowed = raise_descriptors(kConnections + kBeside); allowed < kConnections + kBeside) {
    GTEST_SKIP() << "SKIPPED: " << kConnections << " connections need " << kConnections + kBeside
                 << " descriptors in this process and in the server's; the system allows " << allowed
                 << ": raise ulimit -Hn";
  }
  start("\"device\": {\"connections_max\": " + std::to_string(kConnections + 10) +
        ", \"connections_per_address_max\": " + std::to_string(kConnections + 10) + ", \"idle_ms_max\": 3600000}");
  const auto token = admin_->create_token(kConnections);
  ASSERT_TRUE(test::is_ok(token));
  const size_t descriptors_before = descriptors();
  const uint64_t resident_before = server_->rss_bytes();
  std::vector<std::unique_ptr<RawDevice>> devices(kConnections);
  for_each(
      [&](size_t i) {
        devices[i] = std::make_unique<RawDevice>(server_->device_url(), server_->ca_pem());
        return devices[i]->enroll(*token).has_value();
      },
      "are not enrolled");
  ASSERT_FALSE(HasFailure());
  const auto answered = [&](size_t i) {
    const auto answer = devices[i]->api().check_in(devices[i]->id(), {Population("default"), "test", 0});
    return std::holds_alternative<RetryWindow>(answer);
  };
  for_each(answered, "have no answer");
  EXPECT_GE(descriptors() + kAdmins, descriptors_before + kConnections) << "each has a connection";
  const uint64_t resident = server_->rss_bytes();
  for_each(answered, "have no answer on the connection that they have");
  EXPECT_GE(descriptors() + kAdmins, descriptors_before + kConnections);
  EXPECT_LE(descriptors(), descriptors_before + kConnections + kThreads) << "and no other";
  std::printf("%zu connections: %llu MiB, %llu KiB each\n", kConnections,
              static_cast<unsigned long long>(resident >> 20),
              static_cast<unsigned long long>((resident - resident_before) / kConnections >> 10));
  if (!test::kMemoryIsTheSanitizers) {
    EXPECT_LE(resident, kResidentMax);
    EXPECT_LE((resident - resident_before) / kConnections, kConnectionBytesMax);
  }
  devices.clear();
  const auto alone = enrolled_device();
  EXPECT_TRUE(server_->ends_within(Millis(0)) == false) << server_->log();
}

}  // namespace
}  // namespace coterie::integration

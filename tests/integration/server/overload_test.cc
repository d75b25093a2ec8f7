// A real server with tiny limits: each refusal by its name, with the time at which to come again; and nothing else is
// refused.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/integration/support/fixture.h"
#include "tests/integration/support/raw_http.h"

namespace coterie::integration {
namespace {

// The whole seconds that the answer's one Retry-After names; 0 if it has none, or more than one.
uint32_t retry_after_of(const std::string& answer) {
  constexpr std::string_view kName = "Retry-After: ";
  const size_t at = answer.find(kName);
  if (at == std::string::npos || answer.find(kName, at + 1) != std::string::npos) return 0;
  return static_cast<uint32_t>(std::stoul(answer.substr(at + kName.size())));
}

class Overload : public ServerTest {
 protected:
  std::string ask(const std::string& request) {
    RawHttp connection(server_->device_url(), server_->ca_pem());
    EXPECT_TRUE(test::is_ok(connection.send(request)));
    const auto answer = connection.read_answer(kPatience);
    return answer ? *answer : "";
  }
  static std::string unsigned_download(const std::string& headers = {}) {
    return "GET /v1/models/" + std::string(64, 'a') + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
  }
  static std::variant<Assignment, RetryWindow, Failure> check_in(RawDevice& device) {
    return device.api().check_in(device.id(), {Population("default"), "test", 0});
  }
  std::string metrics() {
    const auto answer = admin_->call("GET", "/metrics");
    return answer ? std::string(as_text(answer->body)) : "";
  }
};

TEST_F(Overload, ADeviceThatAsksTooOftenIsTurnedAwayByItsOwnBucketAndNobodyElse) {
  start("\"overload\": {\"device_requests_per_second\": 0.01, \"device_requests_burst\": 3}");
  const auto eager = enrolled_device(), other = enrolled_device();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::holds_alternative<RetryWindow>(check_in(*eager))) << i;
  const auto refused = check_in(*eager);
  ASSERT_TRUE(std::holds_alternative<Failure>(refused));
  const Failure& failure = std::get<Failure>(refused);
  EXPECT_EQ(failure.error.code(), ErrorCode::rate_limited);
  ASSERT_TRUE(failure.window.has_value());
  EXPECT_GE(failure.window->min_ms, 10'000u) << "a token takes 100 seconds";
  EXPECT_LE(failure.window->min_ms, 100'000u);
  EXPECT_GT(failure.window->max_ms, failure.window->min_ms);
  EXPECT_TRUE(std::holds_alternative<RetryWindow>(check_in(*other)));
  // Before anything is verified: no signature is needed to be told so.
  const std::string answer = ask(unsigned_download("Coterie-Device: " + eager->id().hex() + "\r\n"));
  EXPECT_EQ(status_of(answer), 429);
  EXPECT_GE(retry_after_of(answer), 10u);
  EXPECT_THAT(metrics(), ::testing::HasSubstr("coterie_requests_refused_total{reason=\"device_rate\"} 2"));
}

TEST_F(Overload, StrangersAreHeldOffAndDevicesThatAreKnownAtTheirAddressAreNot) {
  start("\"overload\": {\"stranger_requests_per_second\": 0.01, \"stranger_requests_burst\": 2}");
  const auto device = enrolled_device();
  EXPECT_TRUE(std::holds_alternative<RetryWindow>(check_in(*device)));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(status_of(ask(unsigned_download())), 401) << i;
  const std::string answer = ask(unsigned_download());
  EXPECT_EQ(status_of(answer), 429);
  EXPECT_GE(retry_after_of(answer), 10u);
  EXPECT_TRUE(std::holds_alternative<RetryWindow>(check_in(*device)));
  EXPECT_EQ(status_of(ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")), 200);
  EXPECT_THAT(metrics(), ::testing::HasSubstr("coterie_requests_refused_total{reason=\"stranger_rate\"} 1"));
}

TEST_F(Overload, WhoAsksForHealthTooOftenPaysAsAStrangerUnlessTrusted) {
  start(
      "\"overload\": {\"stranger_requests_per_second\": 0.01, \"stranger_requests_burst\": 2}, "
      "\"device\": {\"trusted_addresses\": []}");
  const std::string health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(status_of(ask(health)), 200) << i;
  EXPECT_EQ(status_of(ask(health)), 429);
  EXPECT_EQ(status_of(ask(unsigned_download())), 429) << "it is the same bucket";
}

TEST_F(Overload, AServerThatIsBehindRefusesNewcomersUntilItHasCaughtUp) {
  start();
  const auto device = enrolled_device();
  server_->kill();
  start("\"threads\": 1, \"overload\": {\"queue_delay_ms\": 2, \"burst_ms\": 2, \"stranger_requests_per_second\": 0}");
  std::atomic<bool> seen{false};
  std::atomic<uint32_t> other_statuses{0}, without_time{0}, sick{0};
  const Instant until = os::monotonic_now() + kPatience;
  std::vector<std::thread> crowd;
  for (int i = 0; i < 16; ++i) {
    crowd.emplace_back([&] {
      while (!seen && os::monotonic_now() < until) {
        const std::string answer = ask("POST /v1/checkins HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
        if (status_of(answer) == 503) {
          if (retry_after_of(answer) == 0) ++without_time;
          if (answer.find("overloaded") == std::string::npos) ++other_statuses;
          seen = true;
        } else if (status_of(answer) != 401) {
          ++other_statuses;
        }
        if (status_of(ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")) != 200) ++sick;
      }
    });
  }
  for (std::thread& thread : crowd) thread.join();
  EXPECT_TRUE(seen) << "nobody was refused";
  EXPECT_EQ(without_time, 0u);
  EXPECT_EQ(other_statuses, 0u);
  EXPECT_EQ(sick, 0u) << "a balancer must not take it for dead";
  EXPECT_THAT(metrics(), ::testing::HasSubstr("coterie_requests_refused_total{reason=\"queue_delay\"}"));
  bool is_served = false;
  while (!is_served && os::monotonic_now() < until + kPatience)
    is_served = std::holds_alternative<RetryWindow>(check_in(*device));
  EXPECT_TRUE(is_served);
}

TEST_F(Overload, WindowsOfThoseWhoAreNotNeededGrowWithHowManyAreAway) {
  start("\"selection\": {\"checkins_per_second_max\": 1}");
  const auto device = enrolled_device();
  uint32_t first = 0, widest = 0;
  for (int i = 0; i < 60 && widest < 10'000; ++i) {  // each stands for another device
    const auto answer = check_in(*device);
    ASSERT_TRUE(std::holds_alternative<RetryWindow>(answer)) << i;
    const uint32_t width = std::get<RetryWindow>(answer).max_ms;
    if (i == 0) first = width;
    widest = std::max(widest, width);
  }
  EXPECT_LE(first, 1'000u);
  EXPECT_GE(widest, 10'000u);
}

}  // namespace
}  // namespace coterie::integration

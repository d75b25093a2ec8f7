// Why a round has the devices that it has: each that asked has one code, over real requests and a real kill.
#include <map>
#include <mutex>
#include <thread>

#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 16;
const std::vector<float> kUpdate(kValues, 1.0f);

using Codes = std::map<std::string, int>;

class WhyARound : public ServerTest {
 protected:
  void begin(uint32_t goal, uint32_t tickets, uint32_t devices, uint32_t rounds = 1) {
    start();
    for (uint32_t i = 0; i < devices; ++i) devices_.push_back(enrolled_device());
    nlohmann::json spec = spec_for(goal, rounds);
    spec["rounds"]["pool_min"] = devices;
    spec["rounds"]["over_selection"] = static_cast<double>(tickets) / goal;
    job_ = *admin_->create_job(flat_model(kValues), spec);
  }

  // All ask until each has a ticket or was not drawn; by the number of the device.
  std::map<size_t, Assignment> all_ask() {
    std::map<size_t, Assignment> drawn;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < devices_.size(); ++i) {
      threads.emplace_back([this, i, &drawn, &mutex] {
        RawDevice& device = *devices_[i];
        for (const Instant until = os::monotonic_now() + kPatience; os::monotonic_now() < until;) {
          const auto answer = device.api().check_in(device.id(), {Population("default"), "test", 3'000});
          if (const auto* assignment = std::get_if<Assignment>(&answer)) {
            const std::lock_guard lock(mutex);
            drawn.emplace(i, *assignment);
            return;
          }
          const auto* const window = std::get_if<RetryWindow>(&answer);
          if (window != nullptr && window->reason.starts_with("not_drawn")) return;
        }
        ADD_FAILURE() << "device " << i << " has no answer";
      });
    }
    for (std::thread& thread : threads) thread.join();
    return drawn;
  }

  // As nodes tell it, within seconds; each time it sums to who asked.
  Codes why(uint64_t round, const Codes& expected) {
    Codes codes;
    for (const Instant until = os::monotonic_now() + kPatience; os::monotonic_now() < until && codes != expected;) {
      const auto told = admin_->ask("GET", "/admin/v1/jobs/" + job_ + "/rounds/" + std::to_string(round) + "/why");
      if (!test::is_ok(told)) return codes;
      codes.clear();
      int sum = 0;
      const nlohmann::json& attempt = (*told)["attempts"][0];
      for (const nlohmann::json& code : attempt["codes"]) {
        const std::string reason = code.value("reason", "");
        codes[code.value("code", "") + (reason.empty() ? "" : "/" + reason)] = code.value("devices", 0);
        sum += code.value("devices", 0);
      }
      EXPECT_EQ(sum, attempt["asked"]) << *told;
    }
    return codes;
  }

  std::vector<std::unique_ptr<RawDevice>> devices_;
  std::string job_;
};

TEST_F(WhyARound, SaysWhatBecameOfEachDeviceThatAsked) {
  begin(2, 5, 7);
  const std::map<size_t, Assignment> drawn = all_ask();
  ASSERT_EQ(drawn.size(), 5u);
  auto next = drawn.begin();
  const auto one = [&]() -> std::pair<RawDevice&, const Assignment&> {
    const auto& [index, assignment] = *next++;
    return {*devices_[index], assignment};
  };
  (void)one();  // it does nothing with its ticket
  const auto [reader, read] = one();
  ASSERT_TRUE(test::is_ok(reader.fetch_weights(read)));
  const auto [liar, bad] = one();
  EXPECT_EQ(failure_of(liar.upload(bad, std::vector<float>(kValues / 2))).code(), ErrorCode::malformed);
  const Codes half = {{"not_drawn", 2}, {"ticket", 1}, {"downloaded", 1}, {"update_refused/malformed", 1}};
  Codes with_two_tickets = half;
  with_two_tickets["ticket"] = 3;
  EXPECT_EQ(why(1, with_two_tickets), with_two_tickets) << "while it goes on";
  for (int i = 0; i < 2; ++i) {
    const auto [good, assignment] = one();
    EXPECT_TRUE(std::holds_alternative<Receipt>(good.upload_until_decided(assignment, kUpdate)));
  }
  ASSERT_TRUE(wait_for_model(1));
  EXPECT_EQ(failure_of(reader.upload(read, kUpdate)).code(), ErrorCode::round_closed);
  const Codes all = {{"not_drawn", 2}, {"ticket", 1}, {"update_refused/malformed", 1}, {"late", 1}, {"counted", 2}};
  EXPECT_EQ(why(1, all), all);

  const auto none = admin_->call("GET", "/admin/v1/jobs/" + job_ + "/rounds/2/why");
  ASSERT_TRUE(test::is_ok(none));
  EXPECT_EQ(none->status, 404);
  for (const char* const wrong : {"0", "x", "-1", "18446744073709551616"}) {
    const auto refused = admin_->call("GET", "/admin/v1/jobs/" + job_ + "/rounds/" + wrong + "/why");
    ASSERT_TRUE(test::is_ok(refused));
    EXPECT_EQ(refused->status, 400) << wrong;
  }
}

// What a killed server said last stays, and whoever the store counts is counted.
TEST_F(WhyARound, CountsWhomTheStoreCountsAfterAKill) {
  begin(3, 3, 3);
  std::map<size_t, Assignment> drawn = all_ask();
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Receipt>(devices_[0]->upload_until_decided(drawn[0], kUpdate)));
  const Codes first = {{"ticket", 2}, {"counted", 1}};
  EXPECT_EQ(why(1, first), first);
  server_->kill();
  server_.reset();
  start();
  for (size_t i = 1; i < 3; ++i) {
    // Its ticket is good for the server of now.
    EXPECT_TRUE(std::holds_alternative<Receipt>(devices_[i]->upload_until_decided(drawn[i], kUpdate)));
  }
  ASSERT_TRUE(wait_for_model(1));
  const Codes all = {{"counted", 3}};
  EXPECT_EQ(why(1, all), all) << "they did not ask the second server";
}

}  // namespace
}  // namespace coterie::integration

// A real server whose wall clock is set in mid-round, while its devices' clocks are right: nobody's work is lost.
#include "tests/chaos/clock_control.h"
#include "tests/integration/support/fixture.h"

namespace coterie::chaos {
namespace {

using namespace std::chrono_literals;
using namespace coterie::integration;

constexpr size_t kValues = 16;

class ClockSteps : public ServerTest {
 protected:
  void SetUp() override {
    auto clock = ClockControl::make(directory_ / "clock");
    ASSERT_TRUE(test::is_ok(clock));
    clock_.emplace(std::move(*clock));
    start_with_clock();
  }
  void start_with_clock() {
    auto started = ServerProcess::start({.data_dir = directory_ / "data",
                                         .config = config_,
                                         .device_port = device_port_,
                                         .admin_port = admin_port_,
                                         .environment = clock_->environment()});
    ASSERT_TRUE(test::is_ok(started));
    server_ = std::move(*started);
    device_port_ = server_->device_port();
    admin_port_ = server_->admin_port();
    admin_ = std::make_unique<Admin>(*server_);
  }
  Receipt receipt_of(RawDevice& device, const Assignment& assignment, size_t index) {
    const auto outcome = device.upload_until_decided(assignment, one_hot(kValues, index));
    const auto* receipt = std::get_if<Receipt>(&outcome);
    EXPECT_NE(receipt, nullptr) << failure_of(outcome).message();
    return receipt == nullptr ? Receipt{} : *receipt;
  }

  std::optional<ClockControl> clock_;
  std::string config_;
};

// Two have a ticket when the clock is set; a third gets one afterwards, and it is not born too old.
class ClockStep : public ClockSteps, public ::testing::WithParamInterface<Millis> {};
INSTANTIATE_TEST_SUITE_P(By, ClockStep,
                         ::testing::Values(Millis(90s), Millis(-250s), Millis(25h), Millis(-25h), Millis(9600h)));

TEST_P(ClockStep, LosesNoUpdateOfAnAttemptUnderWay) {
  nlohmann::json spec = spec_for(3, 1);
  spec["rounds"]["pool_min"] = 2;
  spec["rounds"]["selecting_ms_max"] = 200;
  spec["rounds"]["collecting_ms_max"] = 60'000;
  const auto job = admin_->create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(job));
  const auto first = enrolled_device(), second = enrolled_device(), third = enrolled_device();
  Result<Assignment> other = Error(ErrorCode::internal, "not asked yet");
  std::thread waits([&] { other = second->wait_for_assignment(kPatience); });
  const auto assignment = first->wait_for_assignment(kPatience);
  waits.join();
  ASSERT_TRUE(test::is_ok(assignment));
  ASSERT_TRUE(test::is_ok(other));

  clock_->set_ahead(GetParam());
  ASSERT_TRUE(server_->wait_for_log("\"clock_was_set\"", kPatience)) << server_->log();
  (void)receipt_of(*first, *assignment, 0);
  (void)receipt_of(*second, *other, 1);
  const auto late = third->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(late));
  EXPECT_EQ(late->round, assignment->round) << "the same attempt";
  EXPECT_GT(late->not_after, third->api().server_now());
  EXPECT_LT(late->not_after, third->api().server_now() + Millis(80'000));
  (void)receipt_of(*third, *late, 2);
  ASSERT_TRUE(wait_for_model(1)) << server_->log();
  EXPECT_NEAR(third->api().server_ahead().count(), GetParam().count(), 10'000);
}

TEST_F(ClockSteps, ARequestOfAnEarlierLifeOfTheServerIsSignedAnew) {
  const auto device = enrolled_device();
  ASSERT_TRUE(test::is_ok(admin_->create_job(flat_model(kValues), spec_for(1, 1))));
  server_->kill();
  start_with_clock();
  device->api().set_server_ahead(Millis(-200'000));  // as if it had been captured then
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  EXPECT_GT(device->api().server_ahead(), Millis(-10'000)) << "it learned the time";
  (void)receipt_of(*device, *assignment, 3);
}

// Retention goes by the wall clock in all but this: who is forgotten needs a token to come back. What it has removed is
// told behind a whole pass.
TEST_F(ClockSteps, AYearAheadForgetsNoDevice) {
  server_->kill();
  config_ = R"("retention": {"devices_days": 1, "look_ms": 100})";
  start_with_clock();
  const auto device = enrolled_device();
  // Jobs for whom nobody comes; the second is made with a key, which is kept for a day.
  nlohmann::json spec = spec_for(1, 1);
  spec["population"] = "elsewhere";
  const auto elsewhere = admin_->create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(elsewhere));
  const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + *elsewhere);
  ASSERT_TRUE(test::is_ok(shown));
  const std::string again = (*shown)["spec"].dump();
  const auto made = admin_->call("POST", "/admin/v1/jobs", as_bytes(again), {}, "a-key");
  ASSERT_TRUE(test::is_ok(made));
  ASSERT_EQ(made->status, 201);
  clock_->set_ahead(366 * 24h);
  ASSERT_TRUE(server_->wait_for_log("\"idempotency_keys\":1", kPatience)) << "retention has not seen the year pass\n"
                                                                          << server_->log();
  const auto listed = admin_->ask("GET", "/admin/v1/devices");
  ASSERT_TRUE(test::is_ok(listed));
  EXPECT_EQ((*listed)["devices"].size(), 1u) << server_->log();
  ASSERT_TRUE(test::is_ok(admin_->create_job(flat_model(kValues), spec_for(1, 1))));
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  (void)receipt_of(*device, *assignment, 0);
}

}  // namespace
}  // namespace coterie::chaos

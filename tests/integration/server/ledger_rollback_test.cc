// An operator puts the server's database back to an older copy: what was spent since is forgotten there, and
// a device that has seen the ledger says so.
#include <filesystem>

#include "device_sdk/agent/agent.h"
#include "proto/codec/codec.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kDevices = 2;
constexpr size_t kValues = 16;

// A device that is asked for plans alone: it has examples, but cannot read them.
class NoExamples final : public ExampleSource {
 public:
  uint64_t size() const override { return 4; }
  Status read(uint64_t, const Example&) override { return Error(ErrorCode::unavailable, "no examples here"); }
};

class LedgerRollback : public ServerTest {
 protected:
  void create_job() {
    nlohmann::json spec = spec_for(kDevices, 10);
    spec["rounds"]["pool_min"] = 1;
    spec["rounds"]["over_selection"] = 3;
    spec["update"] = {{"clip_l2", 1}, {"weight_max", 1}};
    spec["privacy"] = {{"level", "none"}, {"noise_multiplier", 1}, {"target_delta", 1e-6}, {"epsilon_budget", 100}};
    const auto job = admin_->create_job(flat_model(kValues), spec);
    ASSERT_TRUE(test::is_ok(job));
    job_ = *job;
  }
  // One round by devices that look at nothing; the plan it had.
  void take_part(Plan* plan = nullptr) {
    for (const auto& device : devices_) {
      const auto assignment = device->wait_for_assignment(Millis(5'000), 50);
      ASSERT_TRUE(test::is_ok(assignment));
      if (plan != nullptr) {
        auto bytes = device->api().fetch_plan(device->id(), assignment->plan, assignment->plan_bytes);
        ASSERT_TRUE(std::holds_alternative<Bytes>(bytes));
        auto decoded = decode_plan(std::get<Bytes>(bytes));
        ASSERT_TRUE(test::is_ok(decoded));
        *plan = *decoded;
      }
      const auto outcome = device->upload_until_decided(*assignment, one_hot(kValues, 0));
      ASSERT_TRUE(std::holds_alternative<Receipt>(outcome));
    }
  }
  void copy_database(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(to);
    for (const std::string suffix : {"", "-wal", "-shm"}) {
      const std::string name = "/coterie.sqlite3" + suffix;
      std::filesystem::remove(to + name);
      if (std::filesystem::exists(from + name)) std::filesystem::copy_file(from + name, to + name);
    }
  }

  // ---- The device that looks
  void open_agent() {
    agent_.reset();
    client_ = connect_to(server_->device_url(), server_->ca_pem());
    AgentSettings settings;
    settings.state_dir = directory_ / "device";
    settings.enrollment_token = token_;
    settings.sdk_version = "test";
    settings.policy.backoff_first = settings.policy.refusal_pause = Millis(0);
    settings.policy.checkin_hold = Millis(1'000);
    auto opened = Agent::open(settings, *client_, examples_);
    ASSERT_TRUE(test::is_ok(opened));
    agent_ = std::move(*opened);
  }
  // Steps until it has looked at a plan.
  AgentProgress next_plan() {
    const Instant until = os::monotonic_now() + kPatience;
    while (os::monotonic_now() < until) {
      const auto progress = agent_->step();
      EXPECT_TRUE(test::is_ok(progress));
      if (!progress || progress->activity == AgentProgress::Activity::stopped) break;
      if (progress->activity == AgentProgress::Activity::fetched_plan) return *progress;
    }
    ADD_FAILURE() << "no plan came";
    return {};
  }

  std::string job_;
  std::vector<std::unique_ptr<RawDevice>> devices_;
  NoExamples examples_;
  std::unique_ptr<HttpsClient> client_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(LedgerRollback, IsRefusedByADeviceThatHasSeenTheLedger) {
  start();
  create_job();
  for (uint32_t i = 0; i < kDevices; ++i) devices_.push_back(enrolled_device());
  open_agent();
  ASSERT_TRUE(agent_->step());  // enrolls
  Plan plan;
  take_part(&plan);
  EXPECT_EQ(plan.ledger, LedgerHead{}) << "there was no record before the first round";
  ASSERT_TRUE(wait_for_model(1));
  const std::string data = directory_ / "data", copy = directory_ / "copy";
  server_->kill();
  copy_database(data, copy);

  start();
  open_agent();
  EXPECT_FALSE(next_plan().refused_plan);
  ASSERT_TRUE(agent_->state().log);
  EXPECT_EQ(agent_->state().log->head.size, 2u) << "the first round's reserve and commit";
  take_part(&plan);
  EXPECT_EQ(plan.ledger.records, 2u);
  EXPECT_EQ(plan.log, agent_->state().log);
  ASSERT_TRUE(wait_for_model(2));
  EXPECT_FALSE(next_plan().refused_plan) << "it has the next plan, and asks for a proof";
  EXPECT_EQ(agent_->state().log->head.size, 2u);
  EXPECT_FALSE(next_plan().refused_plan) << "which the server gives";
  EXPECT_EQ(agent_->state().log->head.size, 4u);
  const LedgerHead seen = agent_->state().ledgers.at(JobId(job_));
  EXPECT_EQ(seen.records, 4u);
  const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + job_);
  ASSERT_TRUE(test::is_ok(shown));
  EXPECT_EQ((*shown)["privacy"]["ledger"]["head"], seen.head.hex());
  const Digest plan_before = agent_->state().assignment->plan;
  agent_.reset();
  server_->kill();
  start();
  open_agent();
  EXPECT_FALSE(next_plan().refused_plan) << "a server that was only started anew has the same ledger";
  EXPECT_EQ(agent_->state().assignment->plan, plan_before) << "and the attempt the same plan";
  server_->kill();

  // The server sees it, too, but for who takes away what it has noted.
  copy_database(copy, data);
  ASSERT_TRUE(std::filesystem::remove(data + "/ledger.heads"));
  start();
  take_part();
  ASSERT_TRUE(wait_for_model(2));
  open_agent();
  const AgentProgress refused = next_plan();
  ASSERT_TRUE(refused.refused_plan);
  EXPECT_EQ(refused.refused_plan->error.reason(), "ledger_rollback");
  EXPECT_EQ(refused.refused_plan->job, JobId(job_));
  EXPECT_NE(refused.error->message().find("as many with head"), std::string::npos) << refused.error->message();
  EXPECT_EQ(agent_->state().ledgers.at(JobId(job_)), seen);
  ASSERT_TRUE(agent_->step());  // checks in, and tells
  EXPECT_TRUE(server_->wait_for_log("\"reason\":\"ledger_rollback\"", kPatience));

  // One round later its ledger is longer than any that the device has seen.
  take_part();
  ASSERT_TRUE(wait_for_model(3));
  std::string_view reason;
  for (int plans = 0; plans < 10 && reason != "ledger_fork"; ++plans) {
    const AgentProgress looked = next_plan();
    if (looked.refused_plan) reason = looked.refused_plan->error.reason();
  }
  EXPECT_EQ(reason, "ledger_fork");
  EXPECT_EQ(agent_->state().log->head.size, 4u);
  ASSERT_TRUE(agent_->step());
  EXPECT_TRUE(server_->wait_for_log("\"reason\":\"ledger_fork\"", kPatience));
}

}  // namespace
}  // namespace coterie::integration

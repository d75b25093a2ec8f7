// A real round whose job asks for what devices must be like: each that lacks something declines, the one that lacks
// nothing is counted, and the operator sees by reason how many declined.
#include <algorithm>
#include <map>
#include <thread>

#include "base/os/file.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/client/met_gate.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 16;

class OneClass final : public ExampleSource {
 public:
  uint64_t size() const override { return 4; }
  Status read(uint64_t, const Example& to) override {
    std::ranges::fill(to.features(), 1.0f);
    std::ranges::fill(to.labels(), 3);
    return {};
  }
};

const DeviceConditions kGood{.idle = ConditionAnswer::yes,
                             .charging = ConditionAnswer::yes,
                             .unmetered = ConditionAnswer::yes,
                             .foreground = ConditionAnswer::no,
                             .battery_percent = 80,
                             .thermal = ThermalState::fair,
                             .free_memory_bytes = 1 << 30};

// What the job asks for.
const nlohmann::json kAsked = {{"idle", true},
                               {"charging", true},
                               {"unmetered", true},
                               {"background", true},
                               {"battery_percent_min", 50},
                               {"thermal_max", "fair"},
                               {"free_memory_bytes_min", 1'000'000}};

// Each lacks one thing, and is to say so by this name.
std::map<std::string, DeviceConditions> lacking() {
  std::map<std::string, DeviceConditions> all;
  for (const char* reason : {"idle", "charging", "unmetered", "background", "battery", "thermal", "free_memory"}) {
    all[reason] = kGood;
  }
  all["idle"].idle = ConditionAnswer::no;
  all["charging"].charging = ConditionAnswer::unknown;
  all["unmetered"].unmetered = ConditionAnswer::no;
  all["background"].foreground = ConditionAnswer::yes;
  all["battery"].battery_percent = 49;
  all["thermal"].thermal = ThermalState::serious;
  all["free_memory"].free_memory_bytes = 999'999;
  return all;
}

// A device as apps have it. `conditions` is set between two steps.
class Phone {
 public:
  Phone(std::string state_dir, std::string token, const DeviceConditions& conditions) : conditions_(conditions) {
    settings_.state_dir = std::move(state_dir);
    settings_.enrollment_token = std::move(token);
    settings_.sdk_version = "test";
    settings_.policy.backoff_first = settings_.policy.refusal_pause = Millis(0);
    settings_.policy.checkin_hold = Millis(1'000);
    settings_.conditions = [this] { return conditions_; };
  }
  Status open(const ServerProcess& server, const DeviceRequirements& of_app = {}) {
    agent_.reset();
    settings_.policy.required = of_app;
    client_ = connect_to(server.device_url(), server.ca_pem());
    COT_ASSIGN(agent_, Agent::open(settings_, *client_, examples_));
    return {};
  }
  void be(const DeviceConditions& conditions) { conditions_ = conditions; }
  const ParticipantState& state() const { return agent_->state(); }
  template <typename IsDone>
  Result<AgentProgress> step_until(const IsDone& is_done) {
    std::string last_error;
    for (const Instant until = os::monotonic_now() + kPatience; os::monotonic_now() < until;) {
      COT_ASSIGN(const AgentProgress progress, agent_->step());
      if (is_done(progress)) return progress;
      if (progress.error) last_error = progress.error->message();
      if (progress.activity == AgentProgress::Activity::stopped) break;
    }
    return Error(ErrorCode::internal, "test: the device did not come so far: " + last_error);
  }
  Result<AgentProgress> enroll() {
    return step_until([](const AgentProgress& p) { return p.activity == AgentProgress::Activity::enrolled; });
  }
  // What it says of itself: "plan_refused/charging".
  std::string gate() const {
    const Result<Bytes> file = os::read_file(settings_.state_dir + "/gate", 4096);
    const Result<MetGate> met = file ? met_gate_from(as_text(*file)) : Result<MetGate>(file.error());
    if (!met) return met.error().message();
    return std::string(to_string(met->gate)) + (met->reason.empty() ? "" : "/" + met->reason);
  }
  // Until the server has heard of what this device declined or was held back by.
  Status tell() {
    const auto told = step_until([this](const AgentProgress&) { return !state().refusal; });
    return told ? Status() : Status(told.error());
  }

 private:
  DeviceConditions conditions_;
  AgentSettings settings_;
  OneClass examples_;
  std::unique_ptr<HttpsClient> client_;
  std::unique_ptr<Agent> agent_;
};

class DeviceConditionsRound : public ServerTest {
 protected:
  void SetUp() override {
    start();
    token_ = *admin_->create_token(10);
  }
  nlohmann::json refusals() {
    const auto status = admin_->ask("GET", "/admin/v1/server");
    EXPECT_TRUE(test::is_ok(status));
    return status ? (*status)["refusals"] : nlohmann::json();
  }
  // The codes of a round's only attempt; nodes tell them within seconds.
  template <typename IsDone>
  std::map<std::string, int> why_when_told(const std::string& job, int round, const IsDone& is_done) {
    std::map<std::string, int> codes;
    for (const Instant until = os::monotonic_now() + kPatience; os::monotonic_now() < until && !is_done(codes);) {
      const auto why = admin_->ask("GET", "/admin/v1/jobs/" + job + "/rounds/" + std::to_string(round) + "/why");
      if (!test::is_ok(why)) break;
      const nlohmann::json& attempt = (*why)["attempts"][0];
      codes.clear();
      int sum = 0;
      for (const nlohmann::json& code : attempt["codes"]) {
        const std::string reason = code.value("reason", "");
        codes[code.value("code", "") + (reason.empty() ? "" : "/" + reason)] = code.value("devices", 0);
        sum += code.value("devices", 0);
      }
      EXPECT_EQ(sum, attempt["asked"]) << *why;
    }
    return codes;
  }
  std::string metrics() {
    const auto answer = admin_->call("GET", "/metrics");
    EXPECT_TRUE(test::is_ok(answer));
    return answer ? std::string(as_text(answer->body)) : "";
  }
};

TEST_F(DeviceConditionsRound, IsDeclinedByReasonAndCountedForTheOperator) {
  const std::map<std::string, DeviceConditions> others = lacking();
  nlohmann::json spec = spec_for(static_cast<uint32_t>(others.size()) + 1, 1);
  spec["rounds"]["goal_count"] = 1;  // one is enough, and all are asked
  spec["rounds"]["over_selection"] = others.size() + 1;
  spec["device_requirements"] = kAsked;
  const auto job = admin_->create_job(flat_model(kValues), spec);
  ASSERT_TRUE(test::is_ok(job));

  std::map<std::string, std::unique_ptr<Phone>> phones;
  for (const auto& [reason, conditions] : others) {
    phones[reason] = std::make_unique<Phone>(directory_ / reason, token_, conditions);
  }
  Phone good(directory_ / "good", token_, kGood);
  std::vector<std::thread> threads;
  for (const auto& [name, phone] : phones) {
    threads.emplace_back([this, reason = name, &phone = *phone] {
      ASSERT_TRUE(test::is_ok(phone.open(*server_)));
      const auto declined = phone.step_until([](const AgentProgress& p) { return p.refused_plan.has_value(); });
      ASSERT_TRUE(test::is_ok(declined)) << reason;
      EXPECT_EQ(declined->refused_plan->error.reason(), reason);
      EXPECT_EQ(phone.gate(), "plan_refused/" + reason);
      EXPECT_TRUE(test::is_ok(phone.tell())) << reason;
      EXPECT_EQ(phone.state().rounds_done, 0u);
    });
  }
  ASSERT_TRUE(test::is_ok(good.open(*server_)));
  EXPECT_TRUE(test::is_ok(good.step_until([](const AgentProgress& p) { return p.rounds_done == 1; })));
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(wait_for_model(1));
  EXPECT_EQ(good.gate(), "counted");

  nlohmann::json expected;
  for (const auto& [reason, conditions] : others) expected[reason] = 1;
  EXPECT_EQ(refusals()["plans"], expected);
  EXPECT_EQ(refusals()["held"], nlohmann::json::object());
  const std::string text = metrics();
  for (const auto& [reason, conditions] : others) {
    EXPECT_NE(text.find("coterie_plans_refused_total{reason=\"" + reason + "\"} 1"), std::string::npos) << reason;
  }
  const auto rounds = admin_->rounds(*job);
  ASSERT_TRUE(test::is_ok(rounds));
  EXPECT_EQ((*rounds)["rounds"][0]["accepted"], 1) << *rounds;

  // Each that asked has one code, which the device and its server call the same.
  std::map<std::string, int> why;
  for (const auto& [reason, conditions] : others) why["plan_refused/" + reason] = 1;
  why["counted"] = 1;
  EXPECT_EQ(why_when_told(*job, 1, [&](const auto& codes) { return codes == why; }), why);
}

// What the app itself asks for holds a device back before it asks for work, and is told once it may.
TEST_F(DeviceConditionsRound, OfAnAppAreToldOnceTheDeviceMayAskForWork) {
  for (const auto& [reason, conditions] : lacking()) {
    Phone phone(directory_ / reason, token_, conditions);
    ASSERT_TRUE(test::is_ok(phone.open(*server_)));
    ASSERT_TRUE(test::is_ok(phone.enroll()));
    ASSERT_TRUE(test::is_ok(phone.open(*server_, {.idle = true,
                                                  .charging = true,
                                                  .unmetered = true,
                                                  .background = true,
                                                  .battery_percent_min = 50,
                                                  .thermal_max = ThermalState::fair,
                                                  .free_memory_bytes_min = 1'000'000})));
    const auto held = phone.step_until([](const AgentProgress& p) { return p.error.has_value(); });
    ASSERT_TRUE(test::is_ok(held)) << reason;
    EXPECT_EQ(held->activity, AgentProgress::Activity::held);
    EXPECT_EQ(held->error->reason(), reason);
    EXPECT_EQ(phone.gate(), "held/" + reason);
    EXPECT_FALSE(refusals()["held"].contains(reason)) << "it has asked for nothing yet";
    phone.be(kGood);
    ASSERT_TRUE(test::is_ok(phone.tell())) << reason;
    EXPECT_EQ(refusals()["held"][reason], 1);
    EXPECT_NE(metrics().find("coterie_devices_held_total{reason=\"" + reason + "\"} 1"), std::string::npos) << reason;
  }
  EXPECT_EQ(refusals()["plans"], nlohmann::json::object());
}

}  // namespace
}  // namespace coterie::integration

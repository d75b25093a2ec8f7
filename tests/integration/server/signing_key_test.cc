// A real server's signing key is replaced between rounds: devices that heard of it, and one that slept, go on with it;
// what is signed by the old one is nothing any more once the new one has ended it.
#include "secure/identity/signing_key_file.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "device_sdk/agent/agent.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kGoal = 3, kRounds = 6;
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

// A device as apps have it, over one state directory.
class Phone {
 public:
  Phone(std::string state_dir, std::string token) {
    settings_.state_dir = std::move(state_dir);
    settings_.enrollment_token = std::move(token);
    settings_.sdk_version = "test";
    settings_.policy.backoff_first = settings_.policy.refusal_pause = Millis(0);
    settings_.policy.checkin_hold = Millis(1'000);
  }
  // As after a kill: nothing but the directory is left of an earlier life.
  Status open(const ServerProcess& server) {
    agent_.reset();
    client_ = connect_to(server.device_url(), server.ca_pem());
    COT_ASSIGN(agent_, Agent::open(settings_, *client_, examples_));
    return {};
  }
  const ParticipantState& state() const { return agent_->state(); }
  // Steps until `is_done` of what a step said; why it did not come to that, if it did not.
  template <typename IsDone>
  Status step_until(const IsDone& is_done) {
    std::string last_error;
    for (const Instant until = os::monotonic_now() + kPatience; os::monotonic_now() < until;) {
      COT_ASSIGN(const AgentProgress progress, agent_->step());
      if (is_done(progress)) return {};
      if (progress.error) last_error = progress.error->message();
      if (progress.activity == AgentProgress::Activity::stopped) break;
    }
    return Error(ErrorCode::internal, "test: the device did not come so far: " + last_error);
  }
  Status enroll() {
    return step_until([](const AgentProgress& p) { return p.activity == AgentProgress::Activity::enrolled; });
  }
  Status take_part() {
    return step_until([done = state().rounds_done](const AgentProgress& p) { return p.rounds_done == done + 1; });
  }
  Status refuse_signature() {
    return step_until([](const AgentProgress& p) {
      return p.error && p.error->message().find("not signed by the server") != std::string::npos;
    });
  }

 private:
  AgentSettings settings_;
  OneClass examples_;
  std::unique_ptr<HttpsClient> client_;
  std::unique_ptr<Agent> agent_;
};

class SigningKey : public ServerTest {
 protected:
  Phone& phone(const std::string& name) {
    if (token_.empty()) token_ = *admin_->create_token(10);
    auto& phone = phones_[name];
    if (!phone) phone = std::make_unique<Phone>(directory_ / name, token_);
    return *phone;
  }
  // All of them at once, each in a life of its own; a round that any of them is missing from does not end.
  void each_of(const std::vector<std::string>& names, Status (Phone::*does)()) {
    std::vector<std::thread> threads;
    for (const std::string& name : names) {
      Phone& one = phone(name);
      ASSERT_TRUE(test::is_ok(one.open(*server_))) << name;
      threads.emplace_back([&one, does, name] { EXPECT_TRUE(test::is_ok((one.*does)())) << name; });
    }
    for (std::thread& thread : threads) thread.join();
  }
  void round_of(const std::vector<std::string>& names) {
    each_of(names, &Phone::take_part);
    ASSERT_TRUE(wait_for_model(++rounds_));
  }
  void tell_server() {
    server_->signal(SIGHUP);
    ASSERT_TRUE(server_->wait_for_log("\"key_statements\"", kPatience));
  }
  void restart() {
    server_->kill();
    start();
  }

  const std::string keys_ = directory_ / "data/keys";
  std::map<std::string, std::unique_ptr<Phone>> phones_;
  uint64_t rounds_ = 0;
};

TEST_F(SigningKey, IsReplacedBetweenRoundsAndNoDeviceIsLost) {
  start();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(kGoal, kRounds));
  ASSERT_TRUE(test::is_ok(job));
  each_of({"heard", "heard too", "slept"}, &Phone::enroll);
  round_of({"heard", "heard too", "slept"});
  const Bytes old_key = phone("heard").state().keys.newest;

  const auto named = announce_next_key(keys_, os::wall_now() + Millis(24 * 3'600'000));
  ASSERT_TRUE(test::is_ok(named));
  ASSERT_EQ(named->before, old_key);
  tell_server();
  round_of({"heard", "heard too", "enrolled before the switch"});
  EXPECT_EQ(phone("heard").state().keys, (PinnedKeys{named->after, {{old_key, named->before_until}}}));
  EXPECT_EQ(phone("slept").state().keys, PinnedKeys{old_key});

  ASSERT_TRUE(test::is_ok(switch_to_next_key(keys_)));
  restart();
  round_of({"heard", "enrolled before the switch", "slept"});
  round_of({"heard too", "slept", "enrolled after it"});
  for (const auto& [name, device] : phones_) {
    EXPECT_EQ(device->state().keys.newest, named->after) << name;
    EXPECT_EQ(device->state().keys.retiring.size(), 1u) << name << " believes servers that were not started anew yet";
  }

  ASSERT_TRUE(test::is_ok(end_old_keys(keys_, os::wall_now())));
  tell_server();
  round_of({"heard", "slept", "enrolled after it"});
  EXPECT_EQ(phone("heard").state().keys, PinnedKeys{named->after});

  // Whoever has the old key: a server with it does not start beside what was said of it, and without that no device
  // which heard the end takes part.
  server_->kill();
  std::filesystem::copy_file(keys_ + "/" + kOldSigningKeyFile, keys_ + "/" + kSigningKeyFile,
                             std::filesystem::copy_options::overwrite_existing);
  const auto refused = ServerProcess::start({.data_dir = directory_ / "data"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("restore both from the same backup"), std::string::npos)
      << refused.error().message();
  ASSERT_TRUE(std::filesystem::remove(keys_ + "/" + kKeyStatementsFile));
  start();
  each_of({"heard", "slept", "enrolled after it"}, &Phone::refuse_signature);
  EXPECT_EQ(phone("heard").state().keys, PinnedKeys{named->after});
  const auto shown = admin_->rounds(*job);
  ASSERT_TRUE(test::is_ok(shown));
  for (const auto& round : (*shown)["rounds"]) {
    if (round["state"] == "done") EXPECT_EQ(round["accepted"], kGoal);
  }
}

}  // namespace
}  // namespace coterie::integration

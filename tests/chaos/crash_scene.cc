#include "tests/chaos/crash_scene.h"

#include <csignal>

#include "tests/support/matchers.h"

namespace coterie::chaos {
namespace {

constexpr Millis kDeathMax{30'000};   // of a server that is kept busy
constexpr uint64_t kRoundsAfter = 1;  // a job with noise has a budget
constexpr int kKilled = 128 + SIGKILL;

std::string name_of(const std::string& point) { return point.substr(0, point.find(':')); }

}  // namespace

CrashScene::CrashScene(const std::string& conninfo, const std::string& schema) {
  lease_ttl_ = Millis(1'000);
  if (!conninfo.empty()) keep_truth_at(conninfo, schema);
}

std::optional<CrashResult> CrashScene::run(const std::string& point, CrashWay way, SceneJob job) {
  const auto begins = [&] {
    begin({.job = job});
    return has_begun() && wait_for_rounds(1);
  };
  if (way != CrashWay::first_start) {
    const Status started = start();
    EXPECT_OK(started);
    if (!started || !begins()) return std::nullopt;
    shut_the_door();
    reap();
  }
  const Status armed = start({"COTERIE_CRASH_POINT=" + point});
  if (armed) keep_busy(way == CrashWay::stop);
  shut_the_door();
  if (!is_dead_at(name_of(point), armed)) return std::nullopt;

  const Status back = start();
  EXPECT_OK(back);
  if (!back) return std::nullopt;
  CrashResult result{.ready = last_ready(), .leads = last_start()};
  if (way == CrashWay::first_start ? !begins() : !wait_for_rounds(kRoundsAfter)) return std::nullopt;
  result.rounds = end();
  EXPECT_GE(result.rounds, kRoundsAfter + (way == CrashWay::first_start ? 0 : 1));
  return result;
}

bool CrashScene::is_dead_at(const std::string& name, const Status& started) {
  const std::string words = "killed at crash point " + name + "\n";
  if (server_) (void)server_->ends_within(kDeathMax);  // it may die while it is asked whether it is ready
  const std::string said = server_ ? server_->log() : started.error().message();
  const bool was_there = said.find(words) != std::string::npos;
  EXPECT_TRUE(was_there) << name << " is not reached; the server said:\n" << said;
  if (was_there && server_) {
    EXPECT_EQ(server_->wait(), kKilled);
  }
  return was_there;
}

// Until it is dead. What is asked of it meanwhile may fail, or be done.
void CrashScene::keep_busy(bool stops) {
  if (stops) {
    operate();
    server_->signal(SIGTERM);
    (void)server_->ends_within(kDeathMax);
    return;
  }
  const Instant until = os::monotonic_now() + kDeathMax;
  while (!server_->ends_within(Millis(0)) && os::monotonic_now() < until) operate();
}

// One of everything that changes something.
void CrashScene::operate() {
  const auto ask = [&](const std::string& method, const std::string& target, const nlohmann::json& body = {}) {
    if (server_->ends_within(Millis(0))) return nlohmann::json();
    return admin_->ask(method, target, body).value_or(nlohmann::json());
  };
  const std::string job = "/admin/v1/jobs/" + job_;
  ask("POST", job + "/models/1:promote");
  ask("POST", job + "/models/2:promote");
  ask("POST", job + "/models:rollback");
  const nlohmann::json canary = ask("POST", job + "/models/2:canary", {{"percent", 50}});
  if (canary.contains("id")) {
    const std::string path = job + "/canaries/" + canary["id"].get<std::string>();
    const nlohmann::json one = {{"source", "a"}, {"both", 1}, {"only_new", 0}, {"only_old", 0}, {"neither", 0}};
    ask("POST", path + ":observe", {{"observations", nlohmann::json::array({one})}});
    ask("POST", path + ":end");
  }
  const nlohmann::json token = ask("POST", "/admin/v1/enrollment-tokens", {{"uses", 1}});
  if (token.contains("token")) {
    integration::RawDevice device(server_->device_url(), server_->ca_pem());
    if (device.enroll(token["token"].get<std::string>()))
      ask("POST", "/admin/v1/devices/" + device.id().hex() + ":revoke");
    ask("DELETE", "/admin/v1/enrollment-tokens/" + token["id"].get<std::string>());
  }
  const nlohmann::json admin_token = ask("POST", "/admin/v1/tokens", {{"label", "test"}, {"roles", {"viewer"}}});
  if (admin_token.contains("id")) ask("DELETE", "/admin/v1/tokens/" + admin_token["id"].get<std::string>());

  // A job whose round never has devices, and fails when it is cancelled.
  const nlohmann::json shown = ask("GET", job);
  if (!shown.contains("spec")) return;
  nlohmann::json other = shown["spec"];
  other["population"] = "elsewhere";
  const std::string text = other.dump();
  const auto post = [&](const std::string& body, const std::string& key) {
    if (server_->ends_within(Millis(0))) return nlohmann::json();
    const auto answer = admin_->call("POST", "/admin/v1/jobs", as_bytes(body), {}, key);
    return answer ? answer->json() : nlohmann::json();
  };
  const std::string key = std::to_string(os::monotonic_now().time_since_epoch().count());
  post("{}", key + "-fails");
  const nlohmann::json made = post(text, key);
  if (!made.contains("id")) return;
  const std::string path = "/admin/v1/jobs/" + made["id"].get<std::string>();
  for (const std::string verb : {":pause", ":resume", ":cancel"}) ask("POST", path + verb);
}

}  // namespace coterie::chaos

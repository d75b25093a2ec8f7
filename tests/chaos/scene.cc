#include "tests/chaos/scene.h"

#include <algorithm>

#include "base/os/file.h"
#include "tests/support/matchers.h"

namespace coterie::chaos {

using namespace coterie::integration;

Scene::~Scene() {
  audit_.finish();
  server_.reset();  // devices that still wait for an answer get none
  for (std::thread& thread : threads_) thread.join();
}

void Scene::keep_truth_at(const std::string& conninfo, const std::string& schema) {
  schema_ = schema;
  conninfo_file_ = directory_ / "conninfo";
  ASSERT_OK(os::write_file_atomically(conninfo_file_, as_bytes(conninfo + "\n")));
}

Status Scene::start(const std::vector<std::string>& environment) {
  std::string config = "\"threads\": 2";
  if (!config_.empty()) config += ", " + config_;
  if (is_shared()) {
    config += ", \"store\": {\"engine\": \"postgres\", \"conninfo_file\": \"" + conninfo_file_ + "\", \"schema\": \"" +
              schema_ + "\"}, \"node\": \"a\", \"keys_dir\": \"" + (directory_ / "keys") + "\", \"blobs_dir\": \"" +
              (directory_ / "blobs") + "\", \"lease\": {\"ttl_ms\": " + std::to_string(lease_ttl_.count()) +
              ", \"renew_ms\": 500}";
  }
  const Instant begin = os::monotonic_now();
  server_.reset();
  COT_ASSIGN(server_, ServerProcess::start({.data_dir = directory_ / "data",
                                            .config = config,
                                            .device_port = device_port_,
                                            .admin_port = admin_port_,
                                            .environment = environment}));
  device_port_ = server_->device_port();
  admin_port_ = server_->admin_port();
  admin_ = std::make_unique<Admin>(*server_);
  COT_ASSIGN(const AdminAnswer ready, admin_->call("GET", "/readyz"));
  if (ready.status != 200) return Error(ErrorCode::unavailable, "/readyz answers " + std::to_string(ready.status));
  last_ready_ = std::chrono::duration_cast<Millis>(os::monotonic_now() - begin);
  if (is_shared() && !server_->wait_for_log("\"server_leads\"", kPatience)) {
    return Error(ErrorCode::unavailable, "fl_server does not lead:\n" + server_->log());
  }
  last_start_ = std::chrono::duration_cast<Millis>(os::monotonic_now() - begin);
  audit_.set_open(true);
  return {};
}

nlohmann::json Scene::spec() const {
  nlohmann::json spec = {{"rounds",
                          {{"count", 1'000'000},
                           {"goal_count", kGoal},
                           {"over_selection", 1.5},
                           {"pool_min", 2},
                           {"selecting_ms_max", 100},
                           {"collecting_ms_max", 1'500},
                           {"goal_count_min", 2},
                           {"retry_delay_ms", 50},
                           {"attempts_max", 1000}}},
                         {"privacy", {{"level", "none"}}}};
  if (settings_.job == SceneJob::noise) {
    spec["update"] = {{"clip_l2", 1}, {"weight_max", 1}};
    spec["privacy"] = {{"level", "none"}, {"noise_multiplier", 3}, {"target_delta", 1e-6}, {"epsilon_budget", 50}};
  } else if (settings_.job == SceneJob::tree) {
    spec["update"] = {{"clip_l2", 1}, {"weight_max", 1}};
    spec["rounds"].update({{"count", 200},
                           {"goal_count", settings_.devices / kTreeSeparation},
                           {"over_selection", 1.0},
                           {"separation_min", kTreeSeparation}});
    spec["privacy"] = {{"level", "none"},
                       {"mechanism", "tree"},
                       {"noise_multiplier", 100},
                       {"target_delta", 1e-6},
                       {"epsilon_budget", 50}};
  } else if (settings_.job == SceneJob::kept) {
    spec["aggregation"] = {{"rule", "centred_clip"}, {"radius", 1000}, {"iterations", 1}};
    spec["rounds"]["goal_count_min"] = 3;
  } else if (settings_.job == SceneJob::masked) {
    spec["rounds"].update({{"goal_count", settings_.devices},
                           {"goal_count_min", 4},
                           {"over_selection", 1.0},
                           {"collecting_ms_max", 4'000}});
    spec["privacy"] = {{"level", "active"},
                       {"cohort_min", 4},
                       {"corrupt_share", 0.1},
                       {"dropout_share", 0.1},
                       {"phase_ms_max", 1'000}};
  }
  return spec;
}

void Scene::begin(const SceneSettings& settings) {
  settings_ = settings;
  const auto job = admin_->create_job(flat_model(kValues), spec());
  ASSERT_OK(job);
  job_ = *job;
  const auto token = admin_->create_token(1000);
  ASSERT_OK(token);
  for (uint32_t i = 0; i < settings.devices; ++i) {
    devices_.push_back(std::make_unique<RawDevice>(server_->device_url(), server_->ca_pem()));
    ASSERT_OK(devices_.back()->enroll(*token));
  }
  for (uint32_t i = 0; i < settings.devices; ++i) {
    threads_.emplace_back([this, i] {
      if (settings_.job == SceneJob::masked) take_masked_parts(*devices_[i], i, kValues, audit_);
      else take_part(*devices_[i], i, kValues, audit_);
    });
  }
}

void Scene::reap() {
  if (server_) server_->kill();
}

Result<uint64_t> Scene::rounds_done() {
  COT_ASSIGN(const nlohmann::json shown, admin_->ask("GET", "/admin/v1/jobs/" + job_));
  if (shown["state"] != "running") return Error(ErrorCode::internal, "the job is " + shown.dump());
  return shown["rounds_done"].get<uint64_t>();
}

bool Scene::wait_for_rounds(uint64_t more) {
  constexpr Millis kStepMax{5'000};  // a machine that stood still for longer has not waited for anything
  std::optional<uint64_t> goal;
  Millis waited{0};
  for (Instant last = os::monotonic_now(); waited < kPatience;) {
    if (server_->ends_within(Millis(0))) return false;
    const Result<uint64_t> done = rounds_done();
    if (done && goal && *done >= *goal) return true;
    if (done && !goal) goal = *done + more;
    audit_.wait_for_receipts(1);
    const Instant now = os::monotonic_now();
    waited += std::min(kStepMax, std::chrono::duration_cast<Millis>(now - last));
    last = now;
  }
  ADD_FAILURE() << "no round is done; the server said:\n" << server_->log();
  return false;
}

void Scene::go_home() {
  audit_.finish();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

uint64_t Scene::end() {
  go_home();
  if (settings_.job == SceneJob::noise) return audit_.check_ledger(*admin_, job_);
  if (settings_.job == SceneJob::tree) return audit_.check_tree(*admin_, job_, kTreeSeparation);
  if (settings_.job == SceneJob::masked) return audit_.check_masked(*admin_, job_, settings_.devices);
  return audit_.check_done(*admin_, job_, settings_.devices);
}

}  // namespace coterie::chaos

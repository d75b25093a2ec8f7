// A server that answers with what its rounds make: each model from the moment its round is done, to whom it is, as long
// as the registry has it.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/integration/support/fixture.h"
#include "tests/integration/support/serving_client.h"

namespace coterie::integration {
namespace {

constexpr Millis kHold{20'000};
constexpr size_t kValues = 16;

class ServingServer : public ServerTest {
 protected:
  void serve(const std::string& more = {}) {
    start(R"("serving": {"port": 0, "workers": 2})" + more);
    place_ = ServingPlace::of(*server_, directory_ / "data");
  }
  // On a connection of its own.
  ServingClient::Answer ask(const std::string& method, const std::string& path, const std::string& body = {},
                            const std::string& token = {}) {
    return ServingClient(place_).ask(method, path, body, token);
  }
  std::string example_for(const std::string& job) { return ServingClient(place_).example_for(job); }
  bool is_served(const std::string& job, uint64_t version) { return serves(*server_, job, version); }
  // A device takes part in the job's next round.
  void run_round(RawDevice& device, size_t index) {
    const auto assignment = device.wait_for_assignment(kHold);
    ASSERT_TRUE(test::is_ok(assignment));
    const auto outcome = device.upload_until_decided(*assignment, one_hot(kValues, index));
    ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << std::get<Failure>(outcome).error.message();
  }
  std::string token_of(const std::string& tenant, const std::string& role = "application") {
    const nlohmann::json wanted = {{"label", tenant}, {"roles", {role}}, {"tenant", tenant}};
    const auto made = admin_->ask("POST", "/admin/v1/tokens", wanted);
    EXPECT_TRUE(test::is_ok(made));
    return made ? (*made)["token"].get<std::string>() : std::string();
  }

  ServingPlace place_;
};

TEST_F(ServingServer, AnswersWithEachRoundsModelAndWithThePromotedOne) {
  serve();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 2));
  ASSERT_TRUE(test::is_ok(job));
  ASSERT_TRUE(is_served(*job, 0)) << server_->log();
  const std::string body = example_for(*job), infer = "/v2/models/" + *job + "/infer";
  EXPECT_EQ(ask("POST", infer, body).body["model_version"], "0");
  EXPECT_TRUE(is_so_in_time([&] { return ask("GET", "/v2/health/ready").status == 200; })) << server_->log();

  const auto device = enrolled_device();
  for (uint64_t round = 1; round <= 2; ++round) {
    run_round(*device, 1);
    ASSERT_TRUE(is_served(*job, round)) << server_->log();
    const nlohmann::json answer = ask("POST", infer, body).body;
    EXPECT_EQ(answer["model_version"], std::to_string(round)) << answer;
    const auto stored = admin_->ask("GET", "/admin/v1/jobs/" + *job + "/models/" + std::to_string(round));
    ASSERT_TRUE(test::is_ok(stored));
    EXPECT_EQ(answer["parameters"]["coterie_digest"], (*stored)["digest"]);
  }

  ASSERT_TRUE(test::is_ok(admin_->ask("POST", "/admin/v1/jobs/" + *job + "/models/0:promote")));
  ASSERT_TRUE(server_->wait_for_log("\"served_model_promoted\"", kHold));
  EXPECT_EQ(ask("POST", infer, body).body["model_version"], "0");
  EXPECT_EQ(ask("POST", "/v2/models/" + *job + "/versions/latest/infer", body).body["model_version"], "2");
}

// Versions are promoted and rolled back while clients ask by the job's id and by the population's name: every answer is
// that of one version, the one that it names, and a switch is seen as soon as it was made.
TEST_F(ServingServer, SwitchesUnderLoadWithoutAWrongAnswer) {
  constexpr uint64_t kSwitches = 30;
  constexpr uint64_t kVersions = 3;
  serve();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, kVersions - 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const std::string models = "/admin/v1/jobs/" + *job + "/models";
  std::map<std::string, nlohmann::json> right;  // outputs, by digest
  std::string body;
  for (uint64_t version = 0; version < kVersions; ++version) {
    if (version > 0) run_round(*device, version);
    ASSERT_TRUE(is_served(*job, version)) << server_->log();
    if (body.empty()) body = example_for(*job);
    const nlohmann::json answer =
        ask("POST", "/v2/models/" + *job + "/versions/" + std::to_string(version) + "/infer", body).body;
    right[answer["parameters"]["coterie_digest"]] = answer["outputs"];
  }
  ASSERT_EQ(right.size(), kVersions) << "each round has made another model";
  EXPECT_EQ(ask("GET", "/v2/models/default").status, 404) << "nothing is promoted";
  ASSERT_TRUE(test::is_ok(admin_->ask("POST", models + "/0:promote")));
  const auto answers_by = [&](const std::string& name) {
    return ask("POST", "/v2/models/" + name + "/infer", body).body.value("model_version", std::string());
  };
  ASSERT_TRUE(is_so_in_time([&] { return answers_by("default") == "0"; })) << server_->log();

  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> answers{0}, wrong{0}, refused{0};
  std::vector<std::thread> clients;
  for (const std::string& name : {*job, std::string("default")}) {
    clients.emplace_back([&, path = "/v2/models/" + name + "/infer"] {
      ServingClient client(place_);
      while (!is_over) {
        const ServingClient::Answer answer = client.ask("POST", path, body);
        ++answers;
        if (answer.status != 200) ++refused;
        else if (right.at(answer.body["parameters"]["coterie_digest"]) != answer.body["outputs"]) ++wrong;
      }
    });
  }
  for (uint64_t i = 1; i <= kSwitches; ++i) {
    // Forward to another version, and every third time back to the one before.
    const std::string change = i % 3 == 0 ? ":rollback" : "/" + std::to_string(i % kVersions) + ":promote";
    const auto changed =
        admin_->ask("POST", i % 3 == 0 ? "/admin/v1/jobs/" + *job + "/models:rollback" : models + change);
    EXPECT_TRUE(test::is_ok(changed)) << change;
    const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + *job);
    if (!changed || !shown) break;
    const std::string promoted = std::to_string((*shown)["released"]["version"].get<uint64_t>());
    EXPECT_TRUE(is_so_in_time([&] { return answers_by(*job) == promoted && answers_by("default") == promoted; }))
        << "switch " << i << " to " << promoted;
  }
  is_over = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(refused, 0u) << server_->log();
  EXPECT_GE(answers, kSwitches);
}

TEST_F(ServingServer, AnswersToApplicationsOfTheModelsTenantAlone) {
  serve();
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  ASSERT_TRUE(is_served(*job, 0)) << server_->log();
  const std::string body = example_for(*job), infer = "/v2/models/" + *job + "/infer";
  EXPECT_EQ(ask("POST", infer, body, token_of("default")).status, 200);
  EXPECT_EQ(ask("POST", infer, body, token_of("*")).status, 200);
  const std::string foreign = token_of("acme");
  EXPECT_EQ(ask("POST", infer, body, foreign).status, 404);
  EXPECT_EQ(ask("GET", "/v2/models/" + *job, {}, foreign).status, 404);
  EXPECT_EQ(ask("GET", "/metrics", {}, foreign).status, 403);
  EXPECT_EQ(ask("POST", infer, body, token_of("default", "viewer")).status, 403);
  EXPECT_EQ(ask("POST", infer, body, "cota_0123456789abcdef_AAAA").status, 401);
  const auto jobs = admin_->call("GET", "/admin/v1/jobs", {}, token_of("default"));
  ASSERT_TRUE(test::is_ok(jobs));
  EXPECT_EQ(jobs->status, 403) << "the role is for nothing else";
}

TEST_F(ServingServer, WhatTheRegistryForgetsAnswersNoMore) {
  serve(R"(, "retention": {"models_kept": 1, "superseded_ms_min": 1000, "look_ms": 100})");
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 3));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  for (uint64_t round = 1; round <= 3; ++round) {
    run_round(*device, round);
    ASSERT_TRUE(is_served(*job, round)) << server_->log();
  }
  const std::string model = "/v2/models/" + *job;
  ASSERT_TRUE(is_so_in_time([&] { return ask("GET", model + "/versions/2").status == 404; })) << server_->log();
  EXPECT_EQ(ask("GET", model).body["versions"], nlohmann::json({"3"}));
  ASSERT_TRUE(wait_for_job(*job, "completed"));
  const auto deleted = admin_->call("DELETE", "/admin/v1/jobs/" + *job);
  ASSERT_TRUE(test::is_ok(deleted));
  ASSERT_EQ(deleted->status, 204);
  ASSERT_TRUE(is_so_in_time([&] { return ask("GET", model).status == 404; })) << server_->log();
  EXPECT_EQ(ask("GET", model).body["error"], "there is no model " + *job);
}

}  // namespace
}  // namespace coterie::integration

// A node of a fleet that only answers with models: it hears of rounds and promotions from the node that leads, and from
// the next one when that is gone.
#include <gtest/gtest.h>

#include <csignal>

#include "tests/integration/support/fixture.h"
#include "tests/integration/support/local_fleet.h"
#include "tests/integration/support/serving_client.h"

namespace coterie::integration {
namespace {

constexpr size_t kServedValues = 16;

TEST(ServingNode, AnswersWithWhatTheLeaderTellsItOf) {
  if (!test::PostgresServer::is_installed()) GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
  auto started = LocalFleet::start({.schedulers = 2, .servers = 1, .config = R"("log_level": "debug")"});
  ASSERT_TRUE(test::is_ok(started));
  LocalFleet& fleet = **started;
  ASSERT_TRUE(test::is_ok(fleet.add_serving_node()));
  ServerProcess& node = fleet.serving_node();
  EXPECT_EQ(node.device_url(), "") << "no device connects to it";
  const auto job = fleet.admin().create_job(flat_model(kServedValues), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  ASSERT_TRUE(serves(node, *job, 0)) << node.log();
  EXPECT_TRUE(node.wait_for_log("\"models_told_by_leader\"", kPatience)) << node.log();

  const auto device = fleet.enrolled_device();
  ASSERT_TRUE(device != nullptr) << fleet.logs();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  const auto outcome = device->upload_until_decided(*assignment, one_hot(kServedValues, 1));
  ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << failure_of(outcome).message();
  ASSERT_TRUE(serves(node, *job, 1)) << node.log();

  ServingClient client(ServingPlace::of(node, fleet.serving_data_dir()));
  const std::string body = client.example_for(*job), infer = "/v2/models/" + *job + "/infer";
  EXPECT_EQ(client.ask("POST", infer, body).body["model_version"], "1");

  // Another leads, and tells this node, too.
  const auto leader = fleet.leader();
  ASSERT_TRUE(test::is_ok(leader));
  fleet.kill_scheduler(*leader);
  ASSERT_TRUE(fleet.scheduler(1 - *leader).wait_for_log("\"server_leads\"", kPatience)) << fleet.logs();
  Admin admin(fleet.scheduler(1 - *leader));
  const std::string promote = "/admin/v1/jobs/" + *job + "/models/0:promote";
  ASSERT_TRUE(is_so_in_time([&] { return admin.ask("POST", promote).has_value(); })) << fleet.logs();
  ASSERT_TRUE(is_so_in_time([&] { return client.ask("POST", infer, body).body["model_version"] == "0"; }))
      << node.log();
  EXPECT_EQ(client.ask("POST", "/v2/models/default/infer", body).body["model_version"], "0");
  node.signal(SIGTERM);
  EXPECT_EQ(node.wait(), 0) << node.log();
}

}  // namespace
}  // namespace coterie::integration

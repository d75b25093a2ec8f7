// A server whose blobs are in a store that speaks S3: rounds, a store that goes wrong for a while, what the
// operator is told.
#include <nlohmann/json.hpp>
#include <thread>

#include "base/os/file.h"
#include "fl_server/store/s3/s3_client.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/one_hot_audit.h"
#include "tests/support/s3_double.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 1024;

class S3Server : public ServerTest {
 protected:
  std::string config(const std::string& bucket = test::S3Double::kBucket) const {
    const S3Settings settings = store_.settings();
    const nlohmann::json blobs = {{"kind", "s3"},
                                  {"endpoint", settings.endpoint},
                                  {"region", settings.region},
                                  {"bucket", bucket},
                                  {"prefix", "server/"},
                                  {"ca_file", settings.ca_file},
                                  {"path_style", true},
                                  {"access_key_id_file", store_.access_key_id_file()},
                                  {"secret_key_file", store_.secret_key_file()}};
    return "\"shutdown_ms_max\": 2000, \"blobs\": " + blobs.dump();
  }
  std::vector<std::string> objects(const std::string& prefix) {
    s3::S3Client client(store_.settings(), store_.credentials(), [] { return os::wall_now(); });
    const auto page = client.list(prefix, {});
    EXPECT_TRUE(test::is_ok(page));
    std::vector<std::string> keys;
    if (page) {
      for (const auto& object : page->page.objects) keys.push_back(object.key);
    }
    return keys;
  }
  int requests() { return nlohmann::json::parse(store_.state())["requests"].value("PUT", 0); }

  test::S3Double store_;
};

TEST_F(S3Server, KeepsNoBlobOnItsDiskAndRunsRounds) {
  start(config());
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 2));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  for (uint64_t round = 1; round <= 2; ++round) {
    const auto assignment = device->wait_for_assignment(kPatience);
    ASSERT_TRUE(test::is_ok(assignment));
    const auto weights = device->fetch_weights(*assignment);
    ASSERT_TRUE(test::is_ok(weights));
    EXPECT_FLOAT_EQ((*weights)[7], static_cast<float>(round - 1));
    const auto outcome = device->upload_until_decided(*assignment, one_hot(kValues, 7));
    ASSERT_TRUE(std::holds_alternative<Receipt>(outcome)) << failure_of(outcome).message();
    ASSERT_TRUE(wait_for_model(round)) << server_->log();
  }
  EXPECT_GE(objects("server/blobs/").size(), 4u) << "three versions of the model, and a plan";
  EXPECT_FALSE(os::exists(directory_ / "data/blobs"));
  EXPECT_FALSE(os::exists(directory_ / "data/partials"));
  // Another process finds them all.
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->wait(), 0);
  start(config());
  const auto weights = admin_->download_weights(*job, 2);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[7], 2.0f);
}

TEST_F(S3Server, AcceptsNothingWhileTheStoreFailsAndGoesOnWhenItIsBack) {
  start(config());
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  store_.faults(R"([{"method": "PUT", "times": 1000000, "kind": "internal"}])");
  const auto refused = device->upload(*assignment, one_hot(kValues, 9));
  EXPECT_EQ(failure_of(refused).code(), ErrorCode::unavailable) << failure_of(refused).message();
  EXPECT_EQ((*admin_->rounds(*job))["rounds"][0]["accepted"], 0);
  store_.faults("[]");
  const auto accepted = device->upload_until_decided(*assignment, one_hot(kValues, 9));
  ASSERT_TRUE(std::holds_alternative<Receipt>(accepted)) << failure_of(accepted).message();
  ASSERT_TRUE(wait_for_model(1)) << server_->log();
  const auto weights = admin_->download_weights(*job, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[9], 1.0f);
}

TEST_F(S3Server, TriesTheModelAgainUntilTheStoreTakesIt) {
  start(config());
  const auto job = admin_->create_job(flat_model(kValues), spec_for(1, 1));
  ASSERT_TRUE(test::is_ok(job));
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  store_.faults(R"([{"method": "PUT", "match": "/blobs/", "times": 12, "kind": "slow_down"}])");  // twice as often as
                                                                                                  // one put tries
  ASSERT_TRUE(std::holds_alternative<Receipt>(device->upload_until_decided(*assignment, one_hot(kValues, 4))));
  ASSERT_TRUE(wait_for_model(1)) << server_->log();
  EXPECT_TRUE(server_->wait_for_log("\"finalize_failed\"", Millis(0))) << "it has been noticed";
  const auto weights = admin_->download_weights(*job, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_FLOAT_EQ((*weights)[4], 1.0f);
}

TEST_F(S3Server, CountsEveryReceiptOnceThoughAnswersAreLost) {
  constexpr uint32_t kDevices = 4, kRounds = 4;
  start(config());
  store_.faults(R"([{"method": "PUT", "match": "/partials/", "times": 5, "kind": "lost"},
                    {"method": "PUT", "match": "/blobs/", "times": 5, "kind": "reset"},
                    {"method": "GET", "times": 5, "kind": "cut"},
                     {"method": "DELETE", "times": 3, "kind": "internal"}])");
  const auto job = admin_->create_job(flat_model(kValues), spec_for(kDevices, kRounds));
  ASSERT_TRUE(test::is_ok(job));
  OneHotAudit audit;
  std::vector<std::unique_ptr<RawDevice>> devices;
  for (uint32_t i = 0; i < kDevices; ++i) devices.push_back(enrolled_device());
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) threads.emplace_back([&, i] { take_part(*devices[i], i, kValues, audit); });
  EXPECT_TRUE(wait_for_job(*job, "completed")) << server_->log();
  audit.finish();
  for (std::thread& thread : threads) thread.join();
  audit.check(*admin_, *job, kRounds, kDevices);
}

TEST_F(S3Server, StopsInTimeThoughTheStoreStandsStill) {
  start(config());
  ASSERT_TRUE(test::is_ok(admin_->create_job(flat_model(kValues), spec_for(1, 1))));
  const auto device = enrolled_device();
  const auto assignment = device->wait_for_assignment(kPatience);
  ASSERT_TRUE(test::is_ok(assignment));
  store_.faults(R"([{"method": "PUT", "times": 1000000, "kind": "stall"}])");
  const int before = requests();
  std::thread upload([&] { (void)device->upload(*assignment, one_hot(kValues, 1)); });
  while (requests() == before) std::this_thread::yield();
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->wait(), 0) << server_->log();
  EXPECT_TRUE(server_->wait_for_log("s3_requests_cancelled", kPatience));
  upload.join();
}

TEST_F(S3Server, DoesNotStartOnABucketThatIsNotThere) {
  const auto started = ServerProcess::start({.data_dir = directory_ / "data", .config = config("other-bucket")});
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message().find("NoSuchBucket"), std::string::npos) << started.error().message();
  EXPECT_NE(started.error().message().find("create the bucket"), std::string::npos);
  EXPECT_EQ(started.error().message().find(test::S3Double::kSecretKey), std::string::npos);
}

}  // namespace
}  // namespace coterie::integration

// A real server has a bad canary: a share of real devices gets it, what they say has the server take it back by itself,
// and they have the old version again; killed in the middle of it, it knows what it has heard.
#include <gmock/gmock.h>

#include "base/os/file.h"
#include "secure/identity/key_file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr size_t kValues = 16, kDevices = 40;

class Canary : public ServerTest {
 protected:
  void SetUp() override {
    start();
    before_ = job_of(kValues);
    after_ = job_of(2 * kValues);
    for (size_t i = 0; i < kDevices; ++i) devices_.push_back(enrolled_device());
  }
  // Its round waits for more devices than ever come: it makes no other version.
  std::string job_of(size_t values) {
    const auto job = admin_->create_job(flat_model(values), spec_for(1'000, 1));
    EXPECT_TRUE(test::is_ok(job));
    return job.value_or("");
  }
  std::string path_of(const std::string& job) const { return "/admin/v1/jobs/" + job; }
  // Which devices are to use this job's model; each gets its file, of the digest that it was told.
  std::vector<size_t> who_uses(const std::string& job) {
    std::vector<size_t> who;
    for (size_t i = 0; i < devices_.size(); ++i) {
      DeviceApi& api = devices_[i]->api();
      Outcome<ReleasedModel> model = api.released_model(devices_[i]->id());
      // The connection of before is gone with a server that was killed.
      if (failure_of(model).code() == ErrorCode::unavailable) model = api.released_model(devices_[i]->id());
      const auto* const released = std::get_if<ReleasedModel>(&model);
      EXPECT_NE(released, nullptr) << failure_of(model).message();
      if (released == nullptr) continue;
      uint64_t bytes = 0;
      const Outcome<uint64_t> file = api.fetch_model(devices_[i]->id(), released->digest, 0,
                                                     [&](const TransportResponse&, ByteView piece) -> Status {
                                                       bytes += piece.size();
                                                       return {};
                                                     });
      EXPECT_TRUE(std::holds_alternative<uint64_t>(file));
      EXPECT_EQ(bytes, released->bytes);
      if (released->job == JobId(job)) who.push_back(i);
    }
    return who;
  }
  // What device i says: of ten examples the old version gets nine right, the new one two.
  nlohmann::json says(size_t i) const {
    return {{"observations",
             {{{"source", devices_[i]->id().hex()}, {"both", 2}, {"only_new", 0}, {"only_old", 7}, {"neither", 1}}}}};
  }

  std::string before_, after_;
  std::vector<std::unique_ptr<RawDevice>> devices_;
};

TEST_F(Canary, ThatIsBadIsTakenBackFromRealDevicesAlsoWhereTheServerIsKilledMeanwhile) {
  const Outcome<ReleasedModel> none = devices_[0]->api().released_model(devices_[0]->id());
  EXPECT_EQ(failure_of(none).code(), ErrorCode::not_found) << "nothing is promoted yet";
  ASSERT_OK(admin_->ask("POST", path_of(before_) + "/models/0:promote"));
  EXPECT_EQ(who_uses(before_).size(), kDevices);

  const auto opened = admin_->ask("POST", path_of(after_) + "/models/0:canary", {{"percent", 40}});
  ASSERT_OK(opened);
  const std::string canary = path_of(after_) + "/canaries/" + (*opened)["id"].get<std::string>();
  const std::vector<size_t> share = who_uses(after_);
  ASSERT_GE(share.size(), 2u) << "of 40 devices 40 %, by a salt that nobody knows: fewer once in 20 million times";
  ASSERT_LT(share.size(), kDevices);
  EXPECT_EQ(who_uses(before_).size(), kDevices - share.size());

  // Killed behind an answer, and sent again: heard once.
  size_t next = 0;
  for (; next < 2; ++next) ASSERT_OK(admin_->ask("POST", canary + ":observe", says(share[next])));
  server_->kill();
  start();
  if (HasFatalFailure()) return;
  EXPECT_EQ(who_uses(after_), share) << "the same devices";
  const auto again = admin_->ask("POST", canary + ":observe", says(share[next - 1]));
  ASSERT_OK(again);
  EXPECT_EQ((*again)["repeated"], 1);
  EXPECT_EQ((*again)["heard"], 2);
  EXPECT_EQ((*again)["state"], "running");

  std::string state = "running";
  for (size_t i = 2; i < kDevices && state == "running"; ++i) {
    const auto heard = admin_->ask("POST", canary + ":observe", says(i));
    ASSERT_OK(heard);
    state = (*heard)["state"];
  }
  EXPECT_EQ(state, "rolled_back");
  EXPECT_TRUE(server_->wait_for_log("\"state\":\"rolled_back\"", kPatience)) << "operators hear of it";
  EXPECT_EQ(who_uses(before_).size(), kDevices) << "all have the old version again";
  server_->kill();
  start();
  if (HasFatalFailure()) return;
  EXPECT_EQ(who_uses(before_).size(), kDevices);
  const auto shown = admin_->ask("GET", canary);
  ASSERT_OK(shown);
  EXPECT_EQ((*shown)["state"], "rolled_back");
}

// What an app's user types. A device keeps one file, whose model changes with what it is to use.
TEST_F(Canary, IsFetchedByDevicesAndTakenBackFromTheirFiles) {
  ASSERT_OK(os::write_file_atomically(directory_ / "ca.pem", as_bytes(server_->ca_pem())));
  const auto fetch = [&](const std::string& name) {
    DemoProcess process(directory_.path(),
                        {"device", "model", "--server", server_->device_url(), "--ca", directory_ / "ca.pem",
                         "--state-dir", directory_ / name, "-o", directory_ / (name + ".cotf")});
    const int status = process.wait();
    return status == 0 ? process.output() : std::to_string(status) + ": " + process.errors();
  };
  const auto file = [&](const std::string& name) {
    return os::read_file(directory_ / (name + ".cotf"), 1 << 20).value_or(Bytes());
  };
  EXPECT_THAT(fetch("nobody"), testing::HasSubstr("has no identity"));
  const std::vector<std::string> names = {"one", "two", "three"};
  for (const std::string& name : names) {
    ASSERT_OK(os::make_directories(directory_ / name));
    const auto signer = load_or_create_signer(directory_ / name + "/identity.key", KeyAlgorithm::ed25519);
    ASSERT_OK(signer);
    const auto client = connect_to(server_->device_url(), server_->ca_pem());
    ASSERT_TRUE(std::holds_alternative<EnrollReply>(DeviceApi(*client, **signer).enroll(token_, "test")));
  }
  EXPECT_THAT(fetch("one"), testing::HasSubstr("no model is promoted"));
  ASSERT_OK(admin_->ask("POST", path_of(before_) + "/models/0:promote"));
  for (const std::string& name : names) EXPECT_THAT(fetch(name), testing::HasSubstr("version 0 of job " + before_));
  const Bytes before = file("one");
  const auto opened = admin_->ask("POST", path_of(after_) + "/models/0:canary", {{"percent", 99}});
  ASSERT_OK(opened);
  size_t with = 0;
  for (const std::string& name : names) {
    const bool has_canary = fetch(name).find("version 0 of job " + after_) != std::string::npos;
    EXPECT_EQ(has_canary, file(name) != before);
    with += has_canary;
  }
  EXPECT_GT(with, 0u) << "none of three at 99 %: once in a million times";
  ASSERT_OK(admin_->ask("POST", path_of(after_) + "/canaries/" + (*opened)["id"].get<std::string>() + ":end"));
  for (const std::string& name : names) {
    EXPECT_THAT(fetch(name), testing::HasSubstr("version 0 of job " + before_));
    EXPECT_EQ(file(name), before);
  }
}

}  // namespace
}  // namespace coterie::integration

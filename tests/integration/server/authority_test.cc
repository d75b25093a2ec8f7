// Rounds at level active where an authority certifies devices: real `coterie device run` processes against a
// real server that knows the authority, with strangers among those who are invited.
#include <csignal>

#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/runtime/dataset_source.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/support/fixture.h"

namespace coterie::testing {
namespace {

constexpr uint32_t kCertified = 3;
constexpr uint32_t kInvited = kCertified + 2;
constexpr size_t kValues = 64;

// A round of those that are certified; the others get tickets, too.
nlohmann::json active_spec() {
  return {{"rounds",
           {{"count", 1},
            {"goal_count", kCertified},
            {"goal_count_min", kCertified},
            {"over_selection", static_cast<double>(kInvited) / kCertified},
            {"pool_min", kInvited - 1},
            {"collecting_ms_max", 120'000}}},
          {"privacy",
           {{"level", "active"},
            {"cohort_min", kCertified},
            {"corrupt_share", 0.1},
            {"dropout_share", 0},
            {"phase_ms_max", 20'000}}}};
}

// For flat_model(kValues): four numbers, and one of sixteen classes.
Bytes examples_file() {
  constexpr uint32_t kExamples = 64, kClasses = 16, kFeatures = kValues / kClasses;
  Prng prng(1);
  std::vector<float> features(kExamples * kFeatures);
  std::vector<int32_t> labels(kExamples);
  for (float& value : features) value = static_cast<float>(prng.uniform());
  for (int32_t& label : labels) label = static_cast<int32_t>(prng.below(kClasses));
  return encode_dataset(labelled_dataset("random", kExamples, {kFeatures}, kClasses), features, labels);
}

// What a device logs as its first round is over.
constexpr const char* kRoundDone = "\"event\":\"aggregated\",\"rounds_done\":1";

using Device = std::unique_ptr<DemoProcess>;

class Authorities : public ServerTest {
 protected:
  // What `coterie` prints, without the end of the line.
  std::string print(const std::vector<std::string>& words) {
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 0) << process.errors();
    std::string text = process.output();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  // Its public key; the private one is in a file of that name.
  std::string new_authority(const std::string& name) {
    return print({"authority", "new", "--file", directory_ / name});
  }
  // By that authority, for the device of that name, whose key may be of either kind.
  std::string certify(const std::string& authority, const std::string& device, bool use_p256 = false) {
    std::vector<std::string> identity = {"device", "identity", "--state-dir", directory_ / device};
    if (use_p256) identity.push_back("--p256");
    const std::string line = print(identity);
    const size_t space = line.find(' ');
    if (space == std::string::npos) return "";
    return print({"authority", "certify", "--key", directory_ / authority, "--device-key", line.substr(space + 1),
                  "--algorithm", line.substr(0, space)});
  }
  // Starts the server, which knows this authority, and a job of one round.
  void begin(const std::string& authority_key) {
    start("\"authority_key\": \"" + authority_key + "\"");
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "ca.pem", as_bytes(server_->ca_pem()))));
    ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "examples.cotf", examples_file())));
    const auto token = admin_->create_token(kInvited);
    ASSERT_TRUE(test::is_ok(token));
    token_ = *token;
    const auto job = admin_->create_job(flat_model(kValues), active_spec());
    ASSERT_TRUE(test::is_ok(job));
    job_ = *job;
  }
  // Without a certificate if that is empty.
  Device run_device(const std::string& name, const std::string& authority_key, const std::string& certificate) {
    std::vector<std::string> words = {"device",
                                      "run",
                                      "--server",
                                      server_->device_url(),
                                      "--ca",
                                      directory_ / "ca.pem",
                                      "--token",
                                      token_,
                                      "--state-dir",
                                      directory_ / name,
                                      "--data",
                                      directory_ / "examples.cotf",
                                      "--authority-key",
                                      authority_key,
                                      "--cohort-min",
                                      "2"};
    if (!certificate.empty()) words.insert(words.end(), {"--certificate", certificate});
    return std::make_unique<DemoProcess>(directory_.path(), words);
  }
  static std::string ended(DemoProcess& device) {
    device.signal(SIGTERM);
    EXPECT_EQ(device.wait(), 0) << device.errors();
    return device.errors();
  }

  std::string job_;
};

TEST_F(Authorities, KeepStrangersOutOfARoundThatFinishesWithoutThem) {
  const std::string authority = new_authority("authority.key"), other = new_authority("other.key");
  ASSERT_EQ(authority.size(), 64u);
  ASSERT_NE(authority, other);
  std::vector<std::string> certificates;
  for (uint32_t i = 0; i < kCertified; ++i) {
    certificates.push_back(certify("authority.key", "device-" + std::to_string(i), i == 0));
  }
  const std::string of_other = certify("other.key", "others-device");
  ASSERT_NO_FATAL_FAILURE(begin(authority));

  const Device uncertified = run_device("uncertified", authority, "");
  const Device others_device = run_device("others-device", other, of_other);
  std::vector<Device> certified;
  for (uint32_t i = 0; i < kCertified; ++i) {
    if (i + 1 == kCertified) {
      // The roster closes with the last of them: not before the strangers were turned away. One by its own
      // policy; the other's is content, so it is the server that must do it.
      EXPECT_TRUE(uncertified->wait_for("\"reason\":\"certificate\"")) << uncertified->errors();
      EXPECT_TRUE(others_device->wait_for("the server says: an advert's identity is not certified by an authority"))
          << others_device->errors();
    }
    certified.push_back(run_device("device-" + std::to_string(i), authority, certificates[i]));
  }
  for (const Device& device : certified) EXPECT_TRUE(device->wait_for(kRoundDone)) << device->errors();
  ASSERT_TRUE(wait_for_job(job_, "completed")) << server_->log();

  const auto rounds = admin_->rounds(job_);
  ASSERT_TRUE(test::is_ok(rounds));
  ASSERT_EQ((*rounds)["rounds"].size(), 1u) << rounds->dump();
  const nlohmann::json& round = (*rounds)["rounds"][0];
  EXPECT_EQ(round["attempt"], 1) << "nobody's session ended over a stranger";
  EXPECT_EQ(round["selected"], kInvited);
  EXPECT_EQ(round["accepted"], kCertified);
  const auto before = admin_->download_weights(job_, 0), after = admin_->download_weights(job_, 1);
  ASSERT_TRUE(test::is_ok(before));
  ASSERT_TRUE(test::is_ok(after));
  EXPECT_NE(*before, *after) << "the round must have moved the model";

  for (const Device& device : certified) {
    const std::string said = ended(*device);
    EXPECT_EQ(said.find("plan_refused"), std::string::npos) << said;
    EXPECT_EQ(said.find("not certified"), std::string::npos) << said;
  }
  for (const Device* stranger : {&uncertified, &others_device}) {
    const std::string said = ended(**stranger);
    EXPECT_EQ(said.find(kRoundDone), std::string::npos) << said;
  }
}

// A certificate is for one key: another device cannot use it, and says so before it speaks to anybody.
TEST_F(Authorities, CertifyOneDeviceOnly) {
  const std::string authority = new_authority("authority.key");
  const std::string certificate = certify("authority.key", "device");
  ASSERT_EQ(certificate.size(), 128u);
  ASSERT_NO_FATAL_FAILURE(begin(authority));
  const Device thief = run_device("thief", authority, certificate);
  EXPECT_EQ(thief->wait(), 2) << thief->errors();
  EXPECT_NE(thief->errors().find("is not by this authority for this device's key"), std::string::npos)
      << thief->errors();
}

}  // namespace
}  // namespace coterie::testing

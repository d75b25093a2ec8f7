// Rounds at level active where an authority certifies devices: real `coterie device run` processes against a
// real server that knows the authority, with strangers among those who are invited.
#include <csignal>

#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/runtime/dataset_source.h"
#include "secure/identity/key_file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/support/fixture.h"
#include "tests/support/certificates.h"
#include "tests/support/paths.h"

namespace coterie::integration {
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
  std::string certify(const std::string& authority, const std::string& device, bool use_p256 = false,
                      bool with_lists = false) {
    std::vector<std::string> identity = {"device", "identity", "--state-dir", directory_ / device};
    if (use_p256) identity.push_back("--p256");
    const std::string line = print(identity);
    const size_t space = line.find(' ');
    if (space == std::string::npos) return "";
    std::vector<std::string> words = {"authority",    "certify",
                                      "--key",        directory_ / authority,
                                      "--device-key", line.substr(space + 1),
                                      "--algorithm",  line.substr(0, space),
                                      "--population", "default"};
    if (with_lists) words.push_back("--lists");
    return print(words);
  }
  // Starts the server, which knows this authority, and a job of one round.
  void begin(const std::string& authority_key, const std::string& more = "") {
    start("\"authority_key\": \"" + authority_key + "\"" + more);
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
  Device run_device(const std::string& name, const std::string& authority_key, const std::string& certificate,
                    const std::vector<std::string>& more = {}) {
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
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<DemoProcess>(directory_.path(), words);
  }
  // The serial in a certificate of that authority, as an operator of it would look it up.
  uint64_t serial_of(const std::string& device, const std::string& authority, const std::string& certificate) {
    const std::string line = print({"device", "identity", "--state-dir", directory_ / device});
    const size_t space = line.find(' ');
    const std::string shown = print({"authority", "show", "--certificate", certificate, "--authority-key", authority,
                                     "--device-key", line.substr(space + 1), "--algorithm", line.substr(0, space)});
    return std::stoull(shown.substr(std::string("serial").size()));
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
  ASSERT_GT(certificate.size(), 128u);
  ASSERT_NO_FATAL_FAILURE(begin(authority));
  const Device thief = run_device("thief", authority, certificate);
  EXPECT_EQ(thief->wait(), 2) << thief->errors();
  EXPECT_NE(thief->errors().find("is not by this authority for this device's key"), std::string::npos)
      << thief->errors();
}

// The authority's list goes by way of the server to all devices: the one that is on it takes no part any more, and the
// round finishes without it.
TEST_F(Authorities, RevokeADeviceByAListThatTheServerHandsOut) {
  const std::string authority = new_authority("authority.key"), list = directory_ / "revoked.list";
  std::vector<std::string> certificates;
  for (uint32_t i = 0; i <= kCertified; ++i) {
    certificates.push_back(certify("authority.key", "device-" + std::to_string(i), false, true));
  }
  const std::string revoked = "device-" + std::to_string(kCertified);
  print({"authority", "revoke", "--key", directory_ / "authority.key", "--list", list, "--serial",
         std::to_string(serial_of(revoked, authority, certificates.back()))});
  ASSERT_NO_FATAL_FAILURE(begin(authority, ", \"authority_revocations_file\": \"" + list + "\""));

  const Device uncertified = run_device("uncertified", authority, "");  // so that enough of them wait
  const Device shut_out = run_device(revoked, authority, certificates.back());
  std::vector<Device> devices;
  for (uint32_t i = 0; i < kCertified; ++i) {
    // The roster closes with the last of them: not before the revoked one was turned away.
    if (i + 1 == kCertified) {
      EXPECT_TRUE(shut_out->wait_for("its authority has revoked it")) << shut_out->errors();
    }
    devices.push_back(run_device("device-" + std::to_string(i), authority, certificates[i]));
  }
  for (uint32_t i = 0; i < kCertified; ++i) {
    EXPECT_TRUE(devices[i]->wait_for(kRoundDone)) << devices[i]->errors();
    EXPECT_TRUE(os::exists(directory_ / ("device-" + std::to_string(i)) + "/revocations")) << "it judged with a list";
  }
  ASSERT_TRUE(wait_for_job(job_, "completed")) << server_->log();
  EXPECT_EQ(ended(*shut_out).find(kRoundDone), std::string::npos);
}

// With a third of its certificate's time left a device gets the next one by itself, and keeps it.
TEST_F(Authorities, RenewTheCertificateOfADeviceThatAsks) {
  const std::string authority = new_authority("authority.key");
  ASSERT_NO_FATAL_FAILURE(begin(authority));
  ASSERT_FALSE(print({"device", "identity", "--state-dir", directory_ / "device"}).empty());
  const auto key = load_signer(directory_ / "device/identity.key");
  const auto signer = load_signer(directory_ / "authority.key");
  ASSERT_TRUE(test::is_ok(key));
  ASSERT_TRUE(test::is_ok(signer));
  CertificateStatement statement = test::certificate_statement("default", 5);
  statement.not_before -= std::chrono::days(20);
  statement.not_after += std::chrono::days(5);
  const Bytes old = test::certificate_for(**key, **signer, statement);
  const Device device = run_device("device", authority, to_hex(old),
                                   {"--certify", test::bin_dir() + "/coterie authority answer --key " +
                                                     (directory_ / "authority.key") + " --request"});
  EXPECT_TRUE(device->wait_for("certificate_renewed")) << device->errors();
  EXPECT_EQ(ended(*device).find("certificate_not_renewed"), std::string::npos);
  const auto kept = os::read_file(directory_ / "device/certificate", 1024);
  ASSERT_TRUE(test::is_ok(kept));
  const auto renewed =
      read_device_certificate({(*key)->algorithm(), (*key)->public_key(), *kept}, (*signer)->public_key());
  ASSERT_TRUE(test::is_ok(renewed));
  EXPECT_GT(renewed->not_before, statement.not_before);
  EXPECT_NE(renewed->serial, statement.serial);
}

}  // namespace
}  // namespace coterie::integration

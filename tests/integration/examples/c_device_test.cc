// The example in C as its README runs it: a process of its own against a real server.
#include <sys/wait.h>

#include <cstdio>

#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/runtime/dataset_source.h"
#include "tests/integration/support/fixture.h"
#include "tests/support/paths.h"
#include "tools/model/zoo.h"

namespace coterie::integration {
namespace {

struct Ended {
  int exit_code = -1;
  std::string output;  // both streams
};

Ended run(const std::string& arguments, const std::string& token = {}) {
  const std::string command =
      "COTERIE_ENROLLMENT_TOKEN='" + token + "' '" + test::bin_dir() + "/c_device' " + arguments + " 2>&1";
  Ended ended;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  char piece[4096];
  while (const size_t count = std::fread(piece, 1, sizeof piece, pipe)) ended.output.append(piece, count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  return ended;
}

Bytes examples_file() {
  constexpr uint32_t kExamples = 64, kClasses = 4;
  Prng prng(1);
  std::vector<float> features(kExamples * 64);
  std::vector<int32_t> labels(kExamples);
  for (float& value : features) value = static_cast<float>(prng.uniform());
  for (int32_t& label : labels) label = static_cast<int32_t>(prng.below(kClasses));
  return encode_dataset(labelled_dataset("random", kExamples, {8, 8, 1}, kClasses), features, labels);
}

class CDevice : public ServerTest {
 protected:
  void SetUp() override {
    start();
    ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "ca.pem", as_bytes(server_->ca_pem()))));
    ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / "examples.cotf", examples_file())));
  }

  std::string arguments(const std::string& data = "examples.cotf") const {
    std::string line = server_->device_url();
    for (const std::string& file : {std::string("ca.pem"), std::string("state"), data})
      line += " '" + (directory_ / file) + "'";
    return line;
  }
};

TEST_F(CDevice, EnrollsAndIsAcceptedInOneRoundAndNeedsNoTokenForTheNext) {
  const auto job = admin_->create_job(*make_model(ModelKind::mlp, {8, 8, 1}, 4, 7), spec_for(1, 2));
  ASSERT_TRUE(test::is_ok(job));
  const Ended first = run(arguments() + " 1", *admin_->create_token(1));
  EXPECT_EQ(first.exit_code, 0) << first.output;
  EXPECT_NE(first.output.find("enrolled: ok"), std::string::npos) << first.output;
  EXPECT_NE(first.output.find(", rounds done 1"), std::string::npos) << first.output;
  ASSERT_TRUE(wait_for_model(1));
  const auto before = admin_->download_weights(*job, 0), after = admin_->download_weights(*job, 1);
  ASSERT_TRUE(test::is_ok(before));
  ASSERT_TRUE(test::is_ok(after));
  EXPECT_NE(*before, *after) << "the round must have moved the model";

  const Ended second = run(arguments() + " 1");
  EXPECT_EQ(second.exit_code, 0) << second.output;
  EXPECT_EQ(second.output.find("enrolled"), std::string::npos) << second.output;
  EXPECT_NE(second.output.find(", rounds done 2"), std::string::npos) << second.output;
}

TEST_F(CDevice, WithoutATokenSaysThatOneIsNeeded) {
  const Ended ended = run(arguments() + " 1");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.output.find("enrollment_token"), std::string::npos) << ended.output;
}

TEST_F(CDevice, NamesTheFileThatIsNoDataSet) {
  const Ended absent = run(arguments("no-such-file") + " 1");
  EXPECT_EQ(absent.exit_code, 1);
  EXPECT_NE(absent.output.find("not_found"), std::string::npos) << absent.output;
  const Ended wrong = run(arguments("ca.pem") + " 1");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.output.find("ca.pem: "), std::string::npos) << wrong.output;
}

TEST(CDeviceUsage, IsPrintedWhenArgumentsAreMissingOrAskedFor) {
  EXPECT_EQ(run("--help").exit_code, 0);
  for (const char* arguments : {"", "https://localhost:1 ca state", "https://localhost:1 ca state data rounds"}) {
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.exit_code, 2) << arguments;
    EXPECT_TRUE(ended.output.starts_with("Usage: c_device SERVER")) << ended.output;
  }
}

}  // namespace
}  // namespace coterie::integration

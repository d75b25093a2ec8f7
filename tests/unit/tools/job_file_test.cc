#include "tools/simulate/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/job_json.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

class JobFile : public testing::Test {
 protected:
  Result<SimulatedJob> read(const std::string& text) {
    const std::string path = directory_.path() + "/job.json";
    EXPECT_TRUE(os::write_file_atomically(path, as_bytes(text)));
    return read_job(path);
  }
  static nlohmann::json job() {
    JobSettings settings{.common = {}, .kind = HorizontalSettings{}};
    settings.common.name = "a";
    settings.horizontal().privacy.level = SecurityLevel::none;
    return to_json(settings);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(JobFile, IsReadAsTheServerReadsIt) {
  const Result<SimulatedJob> read_back = read(job().dump());
  ASSERT_TRUE(read_back) << read_back.error().message();
  EXPECT_EQ(read_back->settings.common.name, "a");
  EXPECT_FALSE(read_back->leaves_files_open);
}

TEST_F(JobFile, MayLeaveModelAndHeldOutDataOpenTogether) {
  nlohmann::json open = job();
  open.erase("model");
  open.erase("evaluation");
  const Result<SimulatedJob> read_back = read(open.dump());
  ASSERT_TRUE(read_back) << read_back.error().message();
  EXPECT_TRUE(read_back->leaves_files_open);
  EXPECT_EQ(read_back->settings.horizontal().model, Digest());
  open["evaluation"] = Digest().hex();
  const Result<SimulatedJob> half = read(open.dump());
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message(), testing::HasSubstr("/model"));
}

TEST_F(JobFile, IsRefusedByName) {
  EXPECT_EQ(read("{").error().code(), ErrorCode::malformed);
  nlohmann::json other = job();
  other["kind"] = "vertical";
  const Result<SimulatedJob> vertical = read(other.dump());
  ASSERT_FALSE(vertical);
  EXPECT_EQ(vertical.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(vertical.error().message(), testing::HasSubstr("/kind"));
  const Result<SimulatedJob> counting = read(R"({"name": "a", "privacy": {"level": "none"}, "analytics":
      {"kind": "distinct", "source": "label", "input_values": 2, "buckets": 64}})");
  ASSERT_TRUE(counting) << counting.error().message();
  const nlohmann::json json = read_job_json(directory_.path() + "/job.json").value();
  const Result<JobSettings> variant = job_from_json(json, "variant");
  ASSERT_FALSE(variant);
  EXPECT_THAT(variant.error().message(), testing::HasSubstr("counts make none"));
}

TEST_F(JobFile, MayHaveBufferedRounds) {
  nlohmann::json buffered = job();
  buffered["rounds"]["policy"] = "buffered";
  const Result<SimulatedJob> read_back = read(buffered.dump());
  ASSERT_TRUE(read_back) << read_back.error().message();
  EXPECT_TRUE(read_back->settings.horizontal().rounds.is_buffered());
}

TEST_F(JobFile, MayHaveNoNoise) {
  nlohmann::json noisy = job();
  noisy["privacy"]["noise_multiplier"] = 1.0;
  noisy["privacy"]["target_delta"] = 1e-5;
  noisy["privacy"]["epsilon_budget"] = 8.0;
  noisy["update"]["clip_l2"] = 1.0;
  noisy["update"]["weight_max"] = 1;
  const Result<SimulatedJob> refused = read(noisy.dump());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("/privacy/noise_multiplier"));
}

}  // namespace
}  // namespace coterie

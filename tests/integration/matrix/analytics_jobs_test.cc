// Jobs with analytics by real devices against a real server, held against what all examples together say.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/os/file.h"
#include "secure/dp/account/account.h"
#include "tests/integration/matrix/sdk_device.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kCounters = 8;
constexpr uint64_t kOwn = 12;  // examples of each
constexpr double kTimesClip = 2, kOddsDelta = 1e-6;

// Example i of device d: the numbers 7 d + i mod 50 and its sign, and a class of three.
class Ages final : public ExampleSource {
 public:
  explicit Ages(uint32_t device) : device_(device) {}
  static float age(uint32_t device, uint64_t index) { return static_cast<float>((7 * device + 5 * index) % 50); }
  static int32_t group(uint32_t device, uint64_t index) { return static_cast<int32_t>((device + index * index) % 3); }
  uint64_t size() const override { return kOwn; }
  Status read(uint64_t index, const Example& to) override {
    if (to.features().size() != 2) return Error(ErrorCode::invalid_argument, "examples have two numbers");
    to.features()[0] = -1;
    to.features()[1] = age(device_, index);
    to.labels()[0] = group(device_, index);
    return {};
  }

 private:
  uint32_t device_;
};

// Device d's words: all have "tea", half of them "teas", a quarter "té", each one of its own.
class Words final : public ExampleSource {
 public:
  static constexpr uint32_t kBytes = 6;
  static std::vector<std::string> of(uint32_t device) {
    std::vector<std::string> own = {"tea", "w" + std::to_string(device)};
    if (device % 2 == 0) own.emplace_back("teas");
    if (device % 4 == 0) own.emplace_back("t\xc3\xa9");
    return own;
  }
  explicit Words(uint32_t device) : words_(of(device)) {}
  uint64_t size() const override { return words_.size(); }
  Status read(uint64_t index, const Example& to) override {
    if (to.features().size() != kBytes) return Error(ErrorCode::invalid_argument, "examples have six numbers");
    for (size_t i = 0; i < kBytes; ++i) {
      const bool has_byte = i < words_[index].size();
      to.features()[i] = has_byte ? static_cast<float>(static_cast<uint8_t>(words_[index][i])) : 0;
    }
    to.labels()[0] = 0;
    return {};
  }

 private:
  std::vector<std::string> words_;
};

class AnalyticsJobs : public ServerTest {
 protected:
  template <typename Data = Ages>
  void start_counting() {
    start();
    const std::string ca_file = directory_ / "ca.pem";
    ASSERT_OK(os::write_file_atomically(ca_file, as_bytes(server_->ca_pem())));
    const auto token = admin_->create_token(kCounters);
    ASSERT_OK(token);
    for (uint32_t i = 0; i < kCounters; ++i) {
      devices_.push_back(
          std::make_unique<SdkDevice>(SdkDeviceOptions{.server_url = server_->device_url(),
                                                       .ca_file = ca_file,
                                                       .state_dir = directory_ / ("device" + std::to_string(i)),
                                                       .token = *token,
                                                       .seed = i + 1,
                                                       .accepts_analytics = true},
                                      std::make_shared<Data>(i)));
    }
  }

  nlohmann::json job_for(const nlohmann::json& analytics, const std::string& level) const {
    nlohmann::json job = {
        {"name", "ages"},
        {"analytics", analytics},
        {"rounds", {{"goal_count", kCounters}, {"goal_count_min", kCounters}, {"pool_min", kCounters}}},
        {"privacy", {{"level", level}}}};
    if (level != "none") job["privacy"]["cohort_min"] = kCounters;
    if (level != "none") job["privacy"]["corrupt_share"] = 0.3;
    return job;
  }

  void add_noise(nlohmann::json& job) const {
    job["privacy"]["noise_multiplier"] = kTimesClip;
    job["privacy"]["target_delta"] = kOddsDelta;
    job["privacy"]["epsilon_budget"] = 100;
  }

  // The result of the job when it is over.
  nlohmann::json count(const nlohmann::json& job) {
    const auto created = admin_->ask("POST", "/admin/v1/jobs", job);
    EXPECT_TRUE(test::is_ok(created));
    if (!created) return {};
    id_ = created->value("id", "");
    EXPECT_TRUE(wait_for_job(id_, "completed")) << server_->log();
    const auto result = admin_->ask("GET", "/admin/v1/jobs/" + id_ + "/result");
    EXPECT_TRUE(test::is_ok(result));
    return result ? *result : nlohmann::json();
  }

  static std::vector<double> counts_in(const nlohmann::json& result) {
    std::vector<double> counts;
    for (const auto& bin : result.at("bins")) counts.push_back(bin.at("count"));
    return counts;
  }

  // What `counts` says of all examples of all devices.
  template <typename Counts>
  static double pooled(Counts counts) {
    double sum = 0;
    for (uint32_t d = 0; d < kCounters; ++d) {
      for (uint64_t i = 0; i < kOwn; ++i) sum += counts(d, i) ? 1 : 0;
    }
    return sum;
  }

  std::vector<std::unique_ptr<SdkDevice>> devices_;
  std::string id_;
};

const nlohmann::json kAges = {
    {"kind", "histogram"}, {"source", "feature"},       {"input_values", 2},        {"feature", 1},
    {"column", "age"},     {"edges", {10, 20, 30, 40}}, {"quantiles", {0.25, 0.5}}, {"values_max", kOwn}};

TEST_F(AnalyticsJobs, CountWhatAllExamplesTogetherSayAtEveryLevel) {
  start_counting();
  std::vector<double> truth;
  for (int low : {-1000, 10, 20, 30, 40}) {
    const int high = low < 0 ? 10 : low == 40 ? 1000 : low + 10;
    truth.push_back(pooled([&](uint32_t d, uint64_t i) {
      return Ages::age(d, i) >= static_cast<float>(low) && Ages::age(d, i) < static_cast<float>(high);
    }));
  }
  truth.push_back(0);
  std::string table;
  for (const char* level : {"none", "masked", "active"}) {
    const nlohmann::json result = count(job_for(kAges, level));
    ASSERT_FALSE(result.is_null()) << level;
    EXPECT_EQ(counts_in(result), truth) << level;
    EXPECT_EQ(result["updates"], kCounters);
    if (table.empty()) table = result["table"];
    EXPECT_EQ(result["table"], table) << level << ": the same to the bit";
  }
  // The quantile of the pooled values is in the bin that is told.
  std::vector<float> all;
  for (uint32_t d = 0; d < kCounters; ++d) {
    for (uint64_t i = 0; i < kOwn; ++i) all.push_back(Ages::age(d, i));
  }
  std::ranges::sort(all);
  const auto result = admin_->ask("GET", "/admin/v1/jobs/" + id_ + "/result");
  ASSERT_OK(result);
  for (const auto& range : (*result)["quantiles"]) {
    const float exact =
        all[static_cast<size_t>(std::ceil(range["quantile"].get<double>() * static_cast<double>(all.size()))) - 1];
    if (!range["from"].is_null()) EXPECT_GE(exact, range["from"].get<float>());
    if (!range["to"].is_null()) EXPECT_LT(exact, range["to"].get<float>());
  }

  const nlohmann::json groups = count(job_for({{"kind", "histogram"},
                                               {"source", "label"},
                                               {"input_values", 2},
                                               {"categories", {"a", "b"}},
                                               {"values_max", kOwn}},
                                              "active"));
  EXPECT_EQ(counts_in(groups), (std::vector<double>{pooled([](auto d, auto i) { return Ages::group(d, i) == 0; }),
                                                    pooled([](auto d, auto i) { return Ages::group(d, i) == 1; }),
                                                    pooled([](auto d, auto i) { return Ages::group(d, i) == 2; })}));

  const nlohmann::json distinct = count(job_for({{"kind", "distinct"},
                                                 {"source", "feature"},
                                                 {"input_values", 2},
                                                 {"feature", 1},
                                                 {"buckets", 4096},
                                                 {"values_max", kOwn}},
                                                "active"));
  all.erase(std::unique(all.begin(), all.end()), all.end());
  EXPECT_LE(distinct["distinct"]["low"].get<double>(), static_cast<double>(all.size()));
  EXPECT_GE(distinct["distinct"]["high"].get<double>(), static_cast<double>(all.size()));
}

// With noise: within what the noise says, for what the accountant says of the same sensitivity.
TEST_F(AnalyticsJobs, SpendWhatTheAccountantSays) {
  start_counting();
  nlohmann::json analytics = kAges;
  analytics["values_max"] = 2;
  for (const char* level : {"none", "active_dp"}) {
    nlohmann::json job = job_for(analytics, level);
    add_noise(job);
    const nlohmann::json result = count(job);
    ASSERT_FALSE(result.is_null()) << level;
    const double deviation = result["noise_deviation"];
    EXPECT_GE(deviation, 2 * kTimesClip * 0.99) << level << ": at least the multiplier times the clip";
    double sum = 0;
    for (const double one : counts_in(result)) sum += one;
    EXPECT_NEAR(sum, 2 * kCounters, 6 * deviation * std::sqrt(6.0)) << level;
    const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + id_);
    ASSERT_OK(shown);
    // What `coterie privacy account --noise-multiplier 2 --steps 1` says of a sum of this sensitivity.
    const auto account = account_for({{GaussianNoise{kTimesClip}, Sampling::none(), 1}}, kOddsDelta);
    ASSERT_OK(account);
    const double epsilon = (*shown)["privacy"]["epsilon"];
    if (std::string(level) == "none") EXPECT_NEAR(epsilon, account->epsilon, 0.01 * account->epsilon);
    else EXPECT_LE(epsilon, 1.5 * account->epsilon);
  }
}

// Rounds, each of what the one before has found: the strings that two devices or more have, and no others. After the
// fifth nothing is left: no string goes on behind "teas".
TEST_F(AnalyticsJobs, FindFrequentStringsAtEveryLevel) {
  start_counting<Words>();
  std::string table;
  for (const char* level : {"none", "masked", "active"}) {
    nlohmann::json job = job_for({{"kind", "heavy_hitters"},
                                  {"source", "feature"},
                                  {"input_values", Words::kBytes},
                                  {"length_max", Words::kBytes},
                                  {"column", "word"},
                                  {"prefixes_max", 8},
                                  {"values_max", 4},
                                  {"lane_max", 1},
                                  {"threshold", 2}},
                                 level);
    job["rounds"]["separation_min"] = 1;  // the same devices in each round
    const nlohmann::json result = count(job);
    ASSERT_FALSE(result.is_null()) << level;
    EXPECT_EQ(result["rounds"], 5);
    std::map<std::string, double> told;
    for (const auto& one : result["strings"]) told[one.at("text")] = one.at("count");
    EXPECT_EQ(told, (std::map<std::string, double>{{"tea", 8}, {"teas", 4}, {"t\xc3\xa9", 2}})) << result.dump(1);
    EXPECT_EQ(result["left_out"], 0);
    if (table.empty()) table = result["table"];
    EXPECT_EQ(result["table"], table) << level << ": the same to the bit";
  }
}

// Three rounds at each level: the median of all examples in a range that is a hundredth as wide as the first bins.
TEST_F(AnalyticsJobs, NarrowAQuantileDown) {
  start_counting();
  std::vector<float> all;
  for (uint32_t d = 0; d < kCounters; ++d) {
    for (uint64_t i = 0; i < kOwn; ++i) all.push_back(Ages::age(d, i));
  }
  std::ranges::sort(all);
  const float median = all[all.size() / 2 - 1];
  nlohmann::json analytics = kAges;
  analytics["edges"] = {0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50};
  analytics["quantiles"] = {0.5};
  analytics["refine"] = true;
  std::string table;
  for (const char* level : {"none", "masked", "active"}) {
    nlohmann::json job = job_for(analytics, level);
    job["rounds"]["separation_min"] = 1;
    const nlohmann::json result = count(job);
    ASSERT_FALSE(result.is_null()) << level;
    EXPECT_EQ(result["rounds"], 3);
    const auto& range = result["quantiles"][0];
    EXPECT_LE(range["from"].get<float>(), median);
    EXPECT_GE(range["to"].get<float>(), median);
    EXPECT_LT(range["to"].get<float>() - range["from"].get<float>(), 0.051f) << "5 / 10^2";
    if (table.empty()) table = result["table"];
    EXPECT_EQ(result["table"], table) << level << ": the same to the bit";
  }
}

TEST_F(AnalyticsJobs, SaySoWhereAJobCountsNothing) {
  start();
  const auto job = admin_->create_job(flat_model(16), spec_for(2, 1));
  ASSERT_OK(job);
  const auto asked = admin_->call("GET", "/admin/v1/jobs/" + *job + "/result");
  ASSERT_OK(asked);
  EXPECT_EQ(asked->status, 400);
  EXPECT_EQ(admin_->call("GET", "/admin/v1/jobs/none/result")->status, 404);
  nlohmann::json with_model = job_for(kAges, "none");
  with_model["model"] = std::string(64, 'a');
  EXPECT_ERROR(admin_->ask("POST", "/admin/v1/jobs", with_model), ErrorCode::invalid_argument,
               "their table is the model");
}

}  // namespace
}  // namespace coterie::integration

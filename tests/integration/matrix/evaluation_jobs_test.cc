// Jobs that evaluate models, by real devices against a real server, held against what all examples together say.
#include <algorithm>
#include <cmath>

#include "base/os/file.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/predictor.h"
#include "proto/messages/device_gate.h"
#include "tests/integration/matrix/sdk_device.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/raw_device.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kJudges = 8, kInputs = 4, kClasses = 3;

uint64_t own(uint32_t device) { return 10 + 5 * device; }  // examples of each

// Example i of device d: two numbers, one of two groups, and a class that mostly follows from the first number.
class Judged final : public ExampleSource {
 public:
  explicit Judged(uint32_t device) : device_(device) {}
  static std::vector<float> input(uint32_t device, uint64_t i) {
    const auto number = [&](uint64_t of) { return static_cast<float>((31 * device + of * i) % 19) / 9 - 1; };
    return {number(7), number(11), i % 2 == 0 ? 1.0f : 0, i % 2 == 0 ? 0 : 1.0f};
  }
  static int32_t label(uint32_t device, uint64_t i) {
    const float first = input(device, i)[0];
    return (device + i) % 6 == 0 ? 2 : first < -0.3f ? 0 : first < 0.4f ? 1 : 2;
  }
  uint64_t size() const override { return own(device_); }
  Status read(uint64_t index, const Example& to) override {
    if (to.features().size() != kInputs) return Error(ErrorCode::invalid_argument, "examples have four numbers");
    std::ranges::copy(input(device_, index), to.features().begin());
    to.labels()[0] = label(device_, index);
    return {};
  }

 private:
  uint32_t device_;
};

// Logits of a sort of ruler: it says the class whose place the first number is nearest to; `slope` 0 says always one.
Bytes ruler(float slope) {
  ModelBuilder builder("ruler", {kInputs}, 1);
  const TensorId w =
      builder.parameter("w", {kInputs, kClasses}, {-4 * slope, 0, 4 * slope, 0, 0, 0, 0.1f, 0.5f, 0, 0, 0.6f, 0});
  return *builder.finish(builder.op(OpKind::dense, {builder.input(), w}));
}

// What a model has said of all examples of all devices.
struct Pooled {
  std::vector<std::vector<double>> confusion{kClasses, std::vector<double>(kClasses + 1)};
  double examples = 0, correct = 0, residuals = 0;
  std::vector<std::vector<double>> shares;  // an example each: of its classes, then its class
  double accuracy() const { return correct / examples; }
};
Pooled pooled(const Bytes& file) {
  Pooled all;
  const Model model = *Model::load(file);
  Predictor predictor = *Predictor::create(model, 1);
  std::vector<std::pair<double, double>> devices;
  for (uint32_t d = 0; d < kJudges; ++d) {
    double right = 0;
    for (uint64_t i = 0; i < own(d); ++i) {
      const std::vector<float> input = Judged::input(d, i);
      const std::span<const float> inputs[] = {input};
      std::vector<float> output(kClasses);
      EXPECT_OK(predictor.run(inputs, 1, output));
      const auto label = static_cast<size_t>(Judged::label(d, i));
      const auto best = static_cast<size_t>(std::ranges::max_element(output) - output.begin());
      ++all.confusion[label][best];
      right += best == label ? 1 : 0;
      std::vector<double> shares;
      double sum = 0;
      for (const float logit : output) sum += shares.emplace_back(std::exp(static_cast<double>(logit)));
      for (double& share : shares) share /= sum;
      shares.push_back(static_cast<double>(label));
      all.shares.push_back(std::move(shares));
    }
    devices.emplace_back(static_cast<double>(own(d)), right);
    all.examples += static_cast<double>(own(d));
    all.correct += right;
  }
  for (const auto& [n, y] : devices) all.residuals += std::pow(y - all.accuracy() * n, 2);
  return all;
}

class EvaluationJobs : public ServerTest {
 protected:
  void start_judging(bool accepts = true) {
    start();
    const std::string ca_file = directory_ / "ca.pem";
    ASSERT_OK(os::write_file_atomically(ca_file, as_bytes(server_->ca_pem())));
    const auto token = admin_->create_token(kJudges);
    ASSERT_OK(token);
    for (uint32_t i = 0; i < kJudges; ++i) {
      devices_.push_back(
          std::make_unique<SdkDevice>(SdkDeviceOptions{.server_url = server_->device_url(),
                                                       .ca_file = ca_file,
                                                       .state_dir = directory_ / ("device" + std::to_string(i)),
                                                       .token = *token,
                                                       .seed = i + 1,
                                                       .accepts_analytics = accepts},
                                      std::make_shared<Judged>(i)));
    }
  }

  std::string upload(const Bytes& model) {
    const auto answer = admin_->call("POST", "/admin/v1/models", model);
    EXPECT_TRUE(test::is_ok(answer));
    return answer ? answer->json().value("digest", "") : "";
  }

  nlohmann::json job_for(const nlohmann::json& more, const std::string& level) const {
    nlohmann::json analytics = {
        {"kind", "evaluation"}, {"input_values", kInputs}, {"classes", {"low", "mid", "high"}}, {"score_bins", 32}};
    analytics.update(more);
    nlohmann::json job = {{"name", "judges"},
                          {"analytics", analytics},
                          {"rounds", {{"goal_count", kJudges}, {"goal_count_min", kJudges}, {"pool_min", kJudges}}},
                          {"privacy", {{"level", level}}}};
    if (level != "none") job["privacy"]["cohort_min"] = kJudges;
    if (level != "none") job["privacy"]["corrupt_share"] = 0.3;
    return job;
  }

  // The result of the job when it is over.
  nlohmann::json judge(const nlohmann::json& job) {
    const auto created = admin_->ask("POST", "/admin/v1/jobs", job);
    EXPECT_TRUE(test::is_ok(created));
    if (!created) return {};
    id_ = created->value("id", "");
    EXPECT_TRUE(wait_for_job(id_, "completed")) << server_->log();
    const auto result = admin_->ask("GET", "/admin/v1/jobs/" + id_ + "/result");
    EXPECT_TRUE(test::is_ok(result));
    return result ? *result : nlohmann::json();
  }

  std::vector<std::unique_ptr<SdkDevice>> devices_;
  std::string id_;
};

void expect_area(const nlohmann::json& area, const Pooled& all, size_t of) {
  double pairs = 0, own = 0;
  for (const auto& a : all.shares) own += a.back() == static_cast<double>(of) ? 1 : 0;
  for (const auto& a : all.shares) {
    if (a.back() != static_cast<double>(of)) continue;
    for (const auto& b : all.shares) {
      if (b.back() == static_cast<double>(of)) continue;
      pairs += a[of] > b[of] ? 1 : a[of] == b[of] ? 0.5 : 0;
    }
  }
  const double exact = pairs / (own * (static_cast<double>(all.shares.size()) - own));
  EXPECT_LE(area["low"].get<double>(), exact) << of;
  EXPECT_GE(area["high"].get<double>(), exact) << of;
}

TEST_F(EvaluationJobs, SayWhatAllExamplesTogetherSayAtEveryLevel) {
  start_judging();
  const Bytes good = ruler(1);
  const Pooled all = pooled(good);
  const nlohmann::json groups = {
      {"model", upload(good)}, {"column", "parity"}, {"feature", 2}, {"categories", {"even", "odd"}}};
  std::string table;
  nlohmann::json result;
  for (const char* level : {"none", "masked", "active"}) {
    result = judge(job_for(groups, level));
    ASSERT_FALSE(result.is_null()) << level;
    if (table.empty()) table = result["table"];
    EXPECT_EQ(result["table"], table) << level << ": the same to the bit";
  }
  EXPECT_EQ(result["updates"], kJudges);
  const nlohmann::json& model = result["models"][0];
  EXPECT_EQ(model["devices"], kJudges);
  EXPECT_EQ(model["examples"], all.examples);
  EXPECT_EQ(model["correct"], all.correct);
  EXPECT_EQ(model["confusion"], nlohmann::json(all.confusion));
  const double p = all.accuracy(), n = kJudges, student = 2.364624;  // 97.5 %, 7 degrees of freedom
  const double reach = student * std::sqrt(n / (n - 1) * all.residuals) / all.examples;
  EXPECT_NEAR(model["accuracy"]["value"].get<double>(), p, 1e-12);
  EXPECT_NEAR(model["accuracy"]["low"].get<double>(), p - reach, 1e-4);
  EXPECT_NEAR(model["accuracy"]["high"].get<double>(), std::min(1.0, p + reach), 1e-4);
  ASSERT_EQ(model["auc"].size(), kClasses);
  for (size_t c = 0; c < kClasses; ++c) expect_area(model["auc"][c], all, c);
  ASSERT_EQ(model["groups"].size(), 3u);
  EXPECT_EQ(model["groups"][0]["name"], "even");
  EXPECT_EQ(model["groups"][0]["examples"].get<double>() + model["groups"][1]["examples"].get<double>(), all.examples);
  EXPECT_EQ(model["groups"][2]["examples"], 0);
  // Likewise as it was after fewer rounds.
  const std::string earlier = "/admin/v1/jobs/" + id_ + "/result?version=";
  EXPECT_EQ(admin_->ask("GET", earlier + "1").value_or(nlohmann::json()), result);
  const auto none = admin_->ask("GET", earlier + "0");
  ASSERT_OK(none);
  EXPECT_EQ((*none)["rounds"], 0);
  EXPECT_EQ((*none)["models"][0]["accuracy"], nlohmann::json());
  EXPECT_ERROR(admin_->ask("GET", earlier + "2"), ErrorCode::invalid_argument, "no such model: version 2");
  EXPECT_ERROR(admin_->ask("GET", earlier + "x"), ErrorCode::invalid_argument, "?version");
}

// The ruler reads the first number, says a little by parity, and does not look at the second number.
TEST_F(EvaluationJobs, SayWhatColumnsAreWorthAtEveryLevel) {
  start_judging();
  const nlohmann::json columns = {{{"name", "second"}, {"feature", 1}, {"width", 1}},
                                  {{"name", "parity"}, {"feature", 2}, {"width", 2}},
                                  {{"name", "first"}, {"feature", 0}, {"width", 1}}};
  const nlohmann::json asked = {{"model", upload(ruler(1))}, {"importance", {{"repeats", 4}, {"columns", columns}}}};
  std::string table;
  nlohmann::json result;
  for (const char* level : {"none", "masked", "active"}) {
    result = judge(job_for(asked, level));
    ASSERT_FALSE(result.is_null()) << level;
    if (table.empty()) table = result["table"];
    EXPECT_EQ(result["table"], table) << level << ": the same to the bit";
  }
  EXPECT_EQ(result["models"][0]["correct"], pooled(ruler(1)).correct) << "examples as they are";
  const nlohmann::json& found = result["models"][0]["importance"];
  EXPECT_EQ(found["repeats"], 4);
  ASSERT_EQ(found["columns"].size(), 3u);
  const auto rise = [&](size_t column, const char* of) { return found["columns"][column]["loss_rise"][of]; };
  EXPECT_EQ(found["columns"][2]["name"], "first");
  EXPECT_GT(rise(2, "low").get<double>(), 0.1) << "the class follows from it";
  EXPECT_GT(found["columns"][2]["error_rise"]["low"].get<double>(), 0.1);
  EXPECT_EQ(rise(0, "value"), 0) << "nobody reads it";
  EXPECT_TRUE(rise(0, "low").is_null());
  EXPECT_LT(std::abs(rise(1, "value").get<double>()), rise(2, "value").get<double>() / 5);
}

TEST_F(EvaluationJobs, CompareTwoModelsOnTheSameExamples) {
  start_judging();
  const Bytes good = ruler(1), blunt = ruler(0);
  const nlohmann::json result =
      judge(job_for({{"before", upload(good)}, {"model", upload(blunt)}, {"values_max", 200}}, "active"));
  ASSERT_FALSE(result.is_null());
  ASSERT_EQ(result["models"].size(), 2u);
  EXPECT_EQ(result["models"][0]["correct"], pooled(good).correct);
  EXPECT_EQ(result["models"][1]["correct"], pooled(blunt).correct);
  const nlohmann::json& compared = result["comparison"];
  EXPECT_EQ(compared["devices"], kJudges);
  EXPECT_GT(compared["harm"].get<double>(), 0.2);
  EXPECT_GT(compared["harm"].get<double>(), compared["low"].get<double>());
  EXPECT_LT(compared["harm"].get<double>(), compared["high"].get<double>());
}

// A canary of a version that is worse, and one of a version that is as good, hear the same devices by two jobs; masked,
// so that nobody but the devices knows who said what; killed in between, with everything told again.
TEST_F(EvaluationJobs, FeedACanaryThatIsTakenBackWhereItsVersionIsWorse) {
  start_judging();
  const std::string before = upload(ruler(1)), blunt = upload(ruler(0)), alike = upload(ruler(1.0001f));
  const auto training = [&](const std::string& digest) {
    const auto job = admin_->ask("POST", "/admin/v1/jobs",
                                 {{"name", "j"},
                                  {"model", digest},
                                  {"rounds", {{"goal_count", 100}, {"pool_min", 100}}},
                                  {"privacy", {{"level", "none"}}}});
    EXPECT_TRUE(test::is_ok(job));
    return job ? job->value("id", "") : "";
  };
  const std::string base = training(before);
  ASSERT_OK(admin_->ask("POST", "/admin/v1/jobs/" + base + "/models/0:promote"));
  for (const auto& [digest, level, state] :
       {std::tuple(alike, "none", "running"), std::tuple(blunt, "masked", "rolled_back")}) {
    const std::string job = training(digest);
    nlohmann::json judge = job_for({{"before", before}, {"model", digest}, {"values_max", 200}}, level);
    const auto created = admin_->ask("POST", "/admin/v1/jobs", judge);
    ASSERT_OK(created);
    id_ = created->value("id", "");
    // With eight devices: half of such canaries of a version that is as good may be taken back.
    const auto opened = admin_->ask("POST", "/admin/v1/jobs/" + job + "/models/0:canary",
                                    {{"percent", 20}, {"alpha", 0.5}, {"evaluation_job", id_}});
    ASSERT_OK(opened);
    EXPECT_EQ((*opened)["evaluation_job"], id_);
    const std::string canary = "/admin/v1/jobs/" + job + "/canaries/" + (*opened)["id"].get<std::string>();
    ASSERT_TRUE(wait_for_job(id_, "completed")) << server_->log();
    nlohmann::json shown;
    const auto has_heard = [&] {
      shown = admin_->ask("GET", canary).value_or(nlohmann::json());
      return shown["heard"] == kJudges || shown["state"] != "running";
    };
    for (const Instant until = os::monotonic_now() + kPatience; !has_heard() && os::monotonic_now() < until;) {
    }
    EXPECT_EQ(shown["state"], state) << shown;
    server_->kill();
    start();
    if (HasFatalFailure()) return;
    // The rounds are told again (FedCanary has what comes of that).
    const auto again = admin_->ask("GET", canary);
    ASSERT_OK(again);
    EXPECT_EQ((*again)["heard"], shown["heard"]);
    EXPECT_EQ((*again)["state"], state);
    if (std::string_view(state) == "running") ASSERT_OK(admin_->ask("POST", canary + ":end"));
  }
}

TEST_F(EvaluationJobs, AreRefusedWhereAModelDoesNotFit) {
  start();
  const std::string digest = upload(ruler(1));
  const auto refused = [&](const nlohmann::json& more, std::string_view words) {
    EXPECT_ERROR(admin_->ask("POST", "/admin/v1/jobs", job_for(more, "none")), ErrorCode::invalid_argument, words);
  };
  refused({{"model", std::string(64, 'a')}}, "no such model");
  refused({{"model", digest}, {"input_values", 5}}, "takes examples of 4 numbers");
  refused({{"model", digest}, {"classes", {"a", "b"}}}, "says 3 numbers of an example");
  refused({{"model", digest}, {"before", std::string(64, 'a')}}, "/analytics/before");
  const nlohmann::json outside = {{"columns", {{{"name", "fifth"}, {"feature", 4}}}}};
  refused({{"model", digest}, {"importance", outside}}, "within the 4 of an example");
  // What a job names stays.
  const auto created = admin_->ask("POST", "/admin/v1/jobs", job_for({{"model", digest}}, "none"));
  ASSERT_OK(created);
  const auto removed = admin_->call("DELETE", "/admin/v1/models/" + digest);
  ASSERT_OK(removed);
  EXPECT_EQ(removed->status, 409);
  EXPECT_NE(as_text(removed->body).find("a job or a version of a model is made of it"), std::string_view::npos);
}

// A device of before there were features of plans: it says nothing of them.
TEST_F(EvaluationJobs, AskNoDeviceOfAnOlderSdkWhichStillTrains) {
  start();
  const auto token = admin_->create_token(2);
  ASSERT_OK(token);
  RawDevice older(server_->device_url(), server_->ca_pem());
  ASSERT_OK(older.enroll(*token));
  nlohmann::json job = job_for({{"model", upload(ruler(1))}}, "none");
  job["rounds"] = {{"goal_count", 1}, {"goal_count_min", 1}};
  const auto created = admin_->ask("POST", "/admin/v1/jobs", job);
  ASSERT_OK(created);
  id_ = created->value("id", "");
  // The round begins, as somebody waits, and does not take it.
  std::string reason;
  for (int i = 0; i < 1'000 && !reason.starts_with("unsupported"); ++i) {
    const auto answer = older.api().check_in(older.id(), {Population("default"), "older", 100});
    ASSERT_FALSE(std::holds_alternative<Assignment>(answer));
    if (const auto* window = std::get_if<RetryWindow>(&answer)) reason = window->reason;
  }
  EXPECT_EQ(reason, sentence_of(DeviceGate::unsupported));
  const auto metrics = admin_->call("GET", "/metrics");
  ASSERT_OK(metrics);
  EXPECT_NE(as_text(metrics->body).find("coterie_checkin_reasons_total{reason=\"unsupported\"}"),
            std::string_view::npos);

  const std::string ca_file = directory_ / "ca.pem";
  ASSERT_OK(os::write_file_atomically(ca_file, as_bytes(server_->ca_pem())));
  devices_.push_back(std::make_unique<SdkDevice>(SdkDeviceOptions{.server_url = server_->device_url(),
                                                                  .ca_file = ca_file,
                                                                  .state_dir = directory_ / "newer",
                                                                  .token = *token,
                                                                  .accepts_analytics = true},
                                                 std::make_shared<Judged>(0)));
  EXPECT_TRUE(wait_for_job(id_, "completed")) << server_->log();
  devices_.clear();
  ASSERT_OK(admin_->create_job(flat_model(16), spec_for(1, 1)));
  EXPECT_OK(older.wait_for_assignment(Millis(1'000)));
}

}  // namespace
}  // namespace coterie::integration

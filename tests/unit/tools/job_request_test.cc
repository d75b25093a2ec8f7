// What the demo's options come to in the job that it sends.
#include "tools/demo/job_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scheduler/job/round_release.h"
#include "tests/support/matchers.h"
#include "tools/demo/schedule_text.h"

namespace coterie {
namespace {

nlohmann::json job_of(const DemoOptions& options) {
  const Result<std::string> text = job_request(options, 1'000, Digest{}, Digest{});
  EXPECT_OK(text);
  return text ? nlohmann::json::parse(*text) : nlohmann::json();
}

TEST(JobRequest, SaysHowDevicesTrain) {
  DemoOptions options;
  options.optimizer = OptimizerKind::adamw;
  options.weight_decay = 0.25;
  options.proximal_mu = 0.5;
  options.augment = "flip";
  options.freeze = {"conv1.*"};
  options.train_last = 2;
  options.storage = Storage::bfloat16;
  options.early_stopping = EarlyStopping{.validation_share = 0.25f, .patience = 4};
  const nlohmann::json training = job_of(options)["training"];
  EXPECT_EQ(training["optimizer"]["kind"], "adamw");
  EXPECT_EQ(training["optimizer"]["learning_rate"], 0.001) << "by optimizer";
  EXPECT_EQ(training["optimizer"]["weight_decay"], 0.25);
  EXPECT_EQ(training["proximal_mu"], 0.5);
  EXPECT_EQ(training["augment"], "flip");
  EXPECT_EQ(training["freeze"], nlohmann::json({"conv1.*"}));
  EXPECT_EQ(training["train_last"], 2);
  EXPECT_EQ(training["storage"], "bf16");
  options.personal = PersonalSettings{.parameters = {"dense2.*"}, .first_epochs = 1};
  EXPECT_EQ(job_of(options)["training"]["personal"]["parameters"], nlohmann::json({"dense2.*"}));
  EXPECT_EQ(training["early_stopping"], nlohmann::json({{"validation_share", 0.25}, {"patience", 4}}));
}

TEST(JobRequest, SaysWhatTrainsAlone) {
  DemoOptions options;
  options.train_only = {"dense*"};
  EXPECT_EQ(job_of(options)["training"]["train_only"], nlohmann::json({"dense*"}));
  options.train_only = {};
  options.lora = LoraSettings{.rank = 2, .alpha = 4, .pattern = "*.weight", .fixed_a_seed = 7};
  EXPECT_EQ(job_of(options)["training"]["lora"],
            nlohmann::json({{"rank", 2}, {"alpha", 4}, {"pattern", "*.weight"}, {"seed", 7}}));
}

TEST(JobRequest, IsRefusedWhereSoLittleNoiseHasNoAccount) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::active_dp}) {
    DemoOptions options;
    options.security = level;
    options.clip = 1;
    options.target_epsilon = 1000;
    const Result<std::string> refused = job_request(options, 1'000, Digest{}, Digest{});
    EXPECT_ERROR(refused, ErrorCode::invalid_argument, "noise") << to_string(level);
    options.target_epsilon = 100;
    EXPECT_ERROR(job_request(options, 1'000, Digest{}, Digest{}), ErrorCode::invalid_argument, "no epsilon can be told")
        << to_string(level);
    options.target_epsilon = 50;
    EXPECT_OK(job_request(options, 1'000, Digest{}, Digest{})) << to_string(level);
  }
}

// A round begins only if the ledger has room for it: a demo that asks for an epsilon reaches its last round.
TEST(JobRequest, HasNoiseForAllItsRoundsByTheServersAccount) {
  const std::vector<std::pair<SecurityLevel, uint64_t>> jobs = {
      {SecurityLevel::active_dp, 1'000}, {SecurityLevel::active_dp, 4'810}, {SecurityLevel::none, 4'810}};
  for (const auto& [level, values] : jobs) {
    DemoOptions options;
    options.security = level;
    options.devices = 6;
    options.rounds = 4;
    options.clip = 1;
    const auto epsilon_of_all = [&]() -> std::pair<double, double> {
      const auto settings = job_settings(options, values);
      EXPECT_OK(settings);
      if (!settings) return {};
      const auto account = account_of({{release_of(*settings, values), options.rounds}}, options.delta);
      EXPECT_OK(account);
      return {account ? account->epsilon : 0, settings->privacy.epsilon_budget};
    };
    options.target_epsilon = 50;
    const auto [found, target] = epsilon_of_all();
    EXPECT_LE(found, 50) << to_string(level) << ", " << values << " values";
    EXPECT_GT(found, 49) << "and no more noise than that";
    EXPECT_EQ(target, 50);
    options.noise_multiplier = job_settings(options, values)->privacy.noise_multiplier;
    options.target_epsilon.reset();
    const auto [given, budget] = epsilon_of_all();
    EXPECT_LE(given, budget) << to_string(level) << ", " << values << " values";
  }
}

TEST(JobRequest, HasTheRateThatIsGivenOrTheOptimizers) {
  DemoOptions options;
  EXPECT_EQ(job_of(options)["training"]["optimizer"]["learning_rate"], 0.1);
  options.learning_rate = 0.03;
  EXPECT_EQ(job_of(options)["training"]["optimizer"]["learning_rate"], 0.03);
}

TEST(JobRequest, HasTheSchedulesOfTheRates) {
  DemoOptions options;
  EXPECT_FALSE(job_of(options)["training"].contains("schedule"));
  options.schedules.device = parse_rate_schedule("cosine:min=0.1,warmup=3").value();
  options.schedules.server = parse_rate_schedule("step:period=10,gamma=0.5").value();
  EXPECT_EQ(job_of(options)["training"]["schedule"],
            nlohmann::json({{"kind", "cosine"}, {"warmup_rounds", 3}, {"min", 0.1}}));
  EXPECT_EQ(job_of(options)["strategy"]["schedule"],
            nlohmann::json({{"kind", "step"}, {"period", 10}, {"gamma", 0.5}}));
}

TEST(ScheduleText, IsReadWholeOrRefused) {
  EXPECT_EQ(parse_rate_schedule("exponential:gamma=0.98").value(),
            (RateSchedule{.kind = RateScheduleKind::exponential, .gamma = 0.98}));
  EXPECT_EQ(parse_rate_schedule("cosine:warmup=2").value(),
            (RateSchedule{.kind = RateScheduleKind::cosine, .warmup_rounds = 2}));
  EXPECT_EQ(parse_rate_schedule("cosine").value(), RateSchedule{.kind = RateScheduleKind::cosine});
  EXPECT_EQ(parse_rate_schedule("constant:warmup=2").value(), RateSchedule{.warmup_rounds = 2});
  const auto refuses = [](const char* text, const char* why) {
    EXPECT_ERROR(parse_rate_schedule(text), ErrorCode::invalid_argument, why) << text;
  };
  refuses("", "must be constant, step, exponential or cosine");
  refuses("plateau", "must be constant");
  refuses("step:every=3", "knows warmup, period, gamma and min, not every");
  refuses("step:period=-3", "period needs a number");
  refuses("step:period=", "period needs a number");
  refuses("cosine:min=0.1 ", "min needs a number");
  refuses("cosine:,", "not ");
}

}  // namespace
}  // namespace coterie

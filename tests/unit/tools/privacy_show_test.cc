// What people see of a job with noise: the command, the progress lines, the demo's options and results.
#include "tools/cli/privacy_show.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "fl_server/json/job_json.h"
#include "secure/crypto/digest.h"
#include "secure/dp/account/account.h"
#include "tests/support/matchers.h"
#include "tools/admin/round_report.h"
#include "tools/cli/privacy_budget.h"
#include "tools/cli/terminal.h"
#include "tools/demo/job_request.h"
#include "tools/demo/progress.h"
#include "tools/demo/result.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json noisy_job() {
  return {{"id", "jk2"},
          {"spec",
           {{"name", "pilot"},
            {"privacy", {{"noise_multiplier", 1.5}}},
            {"update", {{"clip_l2", 0.5}}},
            {"rounds", {{"goal_count", 40}}}}},
          {"privacy",
           {{"epsilon", 2.25},
            {"delta", 1e-6},
            {"accountant", "rdp"},
            {"epsilon_budget", 8},
            {"releases", 3},
            {"releases_open", 1},
            {"assumptions", {"the sky is \x1b[31mblue", "water is wet"}},
            {"ledger", {{"records", 5}, {"head", "abc"}}}}}};
}

TEST(PrivacyShow, SaysWhatIsSpentByWhomAndOnWhatItRests) {
  const std::string text = privacy_text(noisy_job());
  EXPECT_THAT(text, HasSubstr("epsilon     2.25 at delta 1e-06, by accountant rdp\n"));
  EXPECT_THAT(text, HasSubstr("budget      8, left 5.750000\n"));
  EXPECT_THAT(text, HasSubstr("releases    3, of which reserved only 1\n"));
  EXPECT_THAT(text, HasSubstr("noise       multiplier 1.5, clip 0.5, 40 updates a round\n"));
  EXPECT_THAT(text, HasSubstr("ledger      5 records, head abc\n"));
  EXPECT_THAT(text, HasSubstr("if all of this is true:\n"));
  EXPECT_THAT(text, HasSubstr("  water is wet\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "what a server sends cannot steer the terminal";
  EXPECT_THAT(text, Not(HasSubstr("stop")));
}

TEST(PrivacyShow, SaysWhatThePopulationHasSpentAndWhetherAnythingLimitsIt) {
  json job = noisy_job();
  json phones = {{"population", "phones\x1b"}, {"epsilon", 4.5}, {"delta", 1e-6},      {"accountant", "rdp"},
                 {"epsilon_budget", nullptr},  {"releases", 9},  {"releases_open", 0}, {"jobs", 3}};
  job["privacy"]["populations"] = json::array({phones});
  EXPECT_THAT(privacy_text(job),
              HasSubstr(": epsilon 4.5 at delta 1e-06, by accountant rdp, in 9 releases of 3 jobs; no "
                        "budget: nothing limits what further jobs add\n"));
  EXPECT_THAT(privacy_text(job), Not(HasSubstr("\x1b")));
  phones["epsilon_budget"] = 8;
  phones["epsilon"] = nullptr;
  const std::string text = budgets_text({{"privacy_budgets", json::array({phones})}});
  EXPECT_THAT(text, HasSubstr(": epsilon without bound at delta"));
  EXPECT_THAT(text, HasSubstr("3 jobs; budget 8\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(budgets_text({{"privacy_budgets", json::array()}}), HasSubstr("no population"));
}

TEST(PrivacyShow, SaysWhyAJobStopsAndThatNothingIsProtected) {
  json job = noisy_job();
  job["privacy"]["stop"] = "the privacy budget is used up";
  job["privacy"]["epsilon"] = nullptr;
  EXPECT_THAT(privacy_text(job), HasSubstr("stop        the privacy budget is used up\n"));
  EXPECT_THAT(privacy_text(job), HasSubstr("none: nothing is protected"));
  EXPECT_EQ(privacy_in(job), std::nullopt);
}

TEST(EpsilonWords, StandBehindTheLineOfARound) {
  EXPECT_EQ(epsilon_words({1.2345, 8}), "  eps 1.23/8");
  EXPECT_EQ(epsilon_words({17.03, 100}), "  eps 17/100");
  EXPECT_EQ(epsilon_words({std::nullopt, 8}), "  no eps");
  EXPECT_EQ(epsilon_words({std::nullopt, std::nullopt}), "");
}

TEST(RoundLine, OfDevicesThatCountHasNoLoss) {
  RoundReport round{.number = 1, .attempt = 1, .state = "done", .selected = 6, .accepted = 6, .seconds = 0.31};
  EXPECT_EQ(round_line(round, 1, Terminal(), {}), "round 1/1  6/6 devices  0.31 s");
  round.examples = 60;
  EXPECT_EQ(round_line(round, 1, Terminal(), {}), "round 1/1  6/6 devices  loss      -  accuracy       -  0.31 s");
}

TEST(RoundLine, WithEpsilonFitsInto80ColumnsAndHasABarWhereThereIsRoom) {
  RoundReport round{.number = 8, .attempt = 1, .state = "done", .selected = 10, .accepted = 10, .seconds = 0.31};
  round.evaluation_loss = 12.345;
  round.evaluation_accuracy = 1;
  Terminal terminal;
  EXPECT_EQ(round_line(round, 40, terminal, {17.03, 100}),
            "round  8/40  10/10 devices  loss 12.345  accuracy 100.0 %  0.31 s  eps 17/100");
  terminal.is_live = true;
  EXPECT_LE(width_of(round_line(round, 40, terminal, {17.03, 100})), 80);
  terminal.columns = 120;
  const std::string wide = round_line(round, 40, terminal, {17.03, 100});
  EXPECT_THAT(wide, HasSubstr("####################"));
  EXPECT_LE(width_of(wide), 120);
}

TEST(RoundsPage, HasTheEpsilonOfAJobWithNoise) {
  json page = {{"state", "running"}, {"rounds", json::array()}};
  EXPECT_EQ(parse_rounds(page)->epsilon_budget, std::nullopt);
  page["privacy"] = {{"epsilon", 1.5}, {"epsilon_budget", 8}};
  EXPECT_EQ(parse_rounds(page)->epsilon, 1.5);
  EXPECT_EQ(parse_rounds(page)->epsilon_budget, 8);
  page["privacy"]["epsilon"] = nullptr;
  EXPECT_EQ(parse_rounds(page)->epsilon, std::nullopt);
  EXPECT_EQ(parse_rounds(page)->epsilon_budget, 8);
}

// ---- The demo

constexpr uint64_t kValues = 2'000;

// On a fine grid, as the server's.
double epsilon_of(double multiplier, uint32_t rounds, double delta) {
  return account_for({{DiscreteGaussianNoise{multiplier * 1e6, 1e6, false}, Sampling::none(), rounds}}, delta)->epsilon;
}

TEST(DemoNoise, FindsTheMultiplierForATargetOrTheBudgetForAMultiplier) {
  DemoOptions options;
  options.clip = 1;
  options.rounds = 12;
  options.target_epsilon = 8;
  const Result<DemoNoise> found = noise_of(options, kValues);
  ASSERT_OK(found);
  EXPECT_LE(epsilon_of(found->noise_multiplier, 12, options.delta), 8);
  EXPECT_GT(epsilon_of(found->noise_multiplier * 0.999, 12, options.delta), 8);
  EXPECT_EQ(found->epsilon_budget, 8);

  options.target_epsilon.reset();
  options.noise_multiplier = 3;
  EXPECT_NEAR(noise_of(options, kValues)->epsilon_budget, epsilon_of(3, 12, options.delta), 1e-4);
  EXPECT_GE(noise_of(options, kValues)->epsilon_budget, epsilon_of(3, 12, options.delta)) << "all rounds must fit";
  options.target_epsilon = 1;
  EXPECT_EQ(noise_of(options, kValues)->epsilon_budget, 1) << "then it stops there";
  EXPECT_EQ(noise_of(options, kValues)->noise_multiplier, 3);
}

TEST(DemoNoise, NeedsAClip) {
  DemoOptions options;
  options.target_epsilon = 8;
  EXPECT_ERROR(noise_of(options, kValues), ErrorCode::invalid_argument, "needs --clip");
  EXPECT_ERROR(job_request(options, kValues, Digest{}, Digest{}), ErrorCode::invalid_argument, "needs --clip");
}

TEST(DemoNoise, IsInTheJobThatIsAskedFor) {
  DemoOptions options;
  options.security = SecurityLevel::none;
  const json plain = json::parse(*job_request(options, kValues, Digest{}, Digest{}));
  EXPECT_EQ(plain["privacy"]["level"], "none");
  EXPECT_EQ(plain["privacy"]["noise_multiplier"], 0);
  EXPECT_EQ(plain["update"]["clip_l2"], 0);
  options.clip = 0.5;
  const json clipped = json::parse(*job_request(options, kValues, Digest{}, Digest{}));
  EXPECT_EQ(clipped["update"]["clip_l2"], 0.5);
  EXPECT_GT(clipped["update"]["weight_max"], 1);
  options.noise_multiplier = 2;
  options.delta = 1e-7;
  const json job = json::parse(*job_request(options, kValues, Digest{}, Digest{}));
  EXPECT_EQ(job["update"]["clip_l2"], 0.5);
  EXPECT_EQ(job["update"]["weight_max"], 1);
  EXPECT_EQ(job["privacy"]["noise_multiplier"], 2);
  EXPECT_EQ(job["privacy"]["target_delta"], 1e-7);
}

TEST(DemoJob, HasWhatAServerAsksForAtEveryLevel) {
  for (const SecurityLevel level :
       {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active, SecurityLevel::active_dp}) {
    DemoOptions options;
    options.security = level;
    options.dropout = 0.05;
    options.clip = 1;
    if (level == SecurityLevel::active_dp) options.target_epsilon = 8;
    Problems problems;
    const JobSettings job = job_settings_from_json(
        json::parse(*job_request(options, kValues, content_digest(as_bytes("m")), content_digest(as_bytes("e")))),
        problems);
    EXPECT_THAT(problems, testing::IsEmpty()) << to_string(level);
    EXPECT_THAT(validate_with_model(job.horizontal(), kValues), testing::IsEmpty()) << to_string(level);
    EXPECT_EQ(job.horizontal().model, content_digest(as_bytes("m")));
  }
}

TEST(DemoSecurity, IsInTheJobThatIsAskedFor) {
  DemoOptions options;  // 10 of 20 devices
  options.security = SecurityLevel::masked;
  json job = json::parse(*job_request(options, kValues, Digest{}, Digest{}));
  EXPECT_EQ(job["privacy"]["level"], "masked");
  EXPECT_EQ(job["privacy"]["cohort_min"], 5);
  EXPECT_EQ(job["rounds"]["goal_count_min"], 5);
  EXPECT_EQ(job["rounds"]["over_selection"], 1);
  options.dropout = 0.11;  // 0.22 are planned for
  job = json::parse(*job_request(options, kValues, Digest{}, Digest{}));
  EXPECT_EQ(job["privacy"]["dropout_share"], 0.22);
  EXPECT_NEAR(job["rounds"]["over_selection"].get<double>(), 1.44, 0.005);
  EXPECT_EQ(job["rounds"]["pool_min"], 15);
}

TEST(DemoSecurity, OfSeveralCohortsWantsLessOfEach) {
  DemoOptions options;
  options.devices = 24;  // 12 of which train in a round
  options.security = SecurityLevel::active;
  options.cohort_max = 5;
  const json job = json::parse(*job_request(options, kValues, Digest{}, Digest{}));
  EXPECT_EQ(job["privacy"]["cohort_max"], 5);
  EXPECT_EQ(job["privacy"]["cohort_min"], 2) << "half of a third of 12";
  EXPECT_EQ(job["rounds"]["goal_count_min"], 6);
}

TEST(DemoSecurity, NoiseOfTheDevicesIsSizedForTheSumsThatAreOpened) {
  DemoOptions options;  // 10 of 20 devices
  options.security = SecurityLevel::active_dp;
  options.clip = 1;
  options.target_epsilon = 8;
  const json job = json::parse(*job_request(options, kValues, Digest{}, Digest{}));
  EXPECT_EQ(job["privacy"]["level"], "active_dp");
  EXPECT_EQ(job["privacy"]["cohort_min"], 9);
  EXPECT_EQ(job["rounds"]["goal_count_min"], 9);
  EXPECT_EQ(job["privacy"]["epsilon_budget"], 8);
  EXPECT_EQ(job["update"]["clip_l2"], 1);
  EXPECT_EQ(job["update"]["weight_max"], 1);
  // Skellam noise costs more than Gaussian noise of the same variance, but not much; it has only RDP's bound.
  const double multiplier = job["privacy"]["noise_multiplier"];
  EXPECT_LE(epsilon_of(multiplier, options.rounds, options.delta), 8);
  EXPECT_GT(epsilon_of(multiplier * 0.9, options.rounds, options.delta), 8);
}

TEST(DemoResult, SaysWhatARunWithNoiseHasSpent) {
  DemoResult result;
  EXPECT_FALSE(json::parse(summary_json(result, -1)).contains("privacy"));
  result.privacy = privacy_in(noisy_job());
  ASSERT_TRUE(result.privacy.has_value());
  const json shown = json::parse(summary_json(result, -1))["privacy"];
  EXPECT_EQ(shown, (json{{"epsilon", 2.25},
                         {"delta", 1e-6},
                         {"accountant", "rdp"},
                         {"noise_multiplier", 1.5},
                         {"clip_l2", 0.5},
                         {"ledger_head", "abc"}}));
  EXPECT_THAT(summary_text(result, Terminal()), HasSubstr("epsilon 2.250 at delta 1e-06 (rdp)"));
}

}  // namespace
}  // namespace coterie

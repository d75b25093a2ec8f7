#include "tools/cli/privacy_account.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/tools/run_command.h"

namespace coterie {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Outcome = test::CommandOutcome;
using Words = std::vector<std::string>;

Outcome run(Words words) {
  words.insert(words.begin(), {"privacy", "account"});
  return test::run_command(words);
}

nlohmann::json json_of(const Words& words) {
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, ExitCode::ok) << outcome.err;
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

TEST(PrivacyAccount, PrintsEveryBoundTheLeastAndWhatItRestsOn) {
  const Outcome outcome = run({"--noise-multiplier", "10", "--steps", "100", "--delta", "1e-5"});
  EXPECT_EQ(outcome.code, ExitCode::ok);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("exact       4.377178"), HasSubstr("RDP         4.728507  order 5.4"),
                                 HasSubstr("epsilon 4.377178 at delta 1e-05 (exact), rho 0.500000"),
                                 HasSubstr("sampling: none is claimed")));
}

TEST(PrivacyAccount, PrintsJson) {
  const nlohmann::json json = json_of(
      {"--sampling", "poisson:0.02", "--noise-multiplier", "1.3", "--steps", "2000", "--delta", "1e-5", "--json"});
  EXPECT_EQ(json["method"], "pld");
  EXPECT_NEAR(json["epsilon"].get<double>(), 3.5488, 5e-4);
  EXPECT_TRUE(json["exact"]["epsilon"].is_null());
  EXPECT_THAT(json["assumptions"].dump(), HasSubstr("assumed by the operator, seen by nobody"));
}

TEST(PrivacyAccount, ComposesGroupsInTheirOrder) {
  const nlohmann::json json =
      json_of({"--noise-multiplier", "2", "--steps", "3", "--delta", "1e-6", "--then", "--mechanism", "laplace",
               "--noise-multiplier", "4", "--json", "--then", "--noise-multiplier=8"});
  EXPECT_FALSE(json.contains("rho"));
  const nlohmann::json less = json_of({"--noise-multiplier", "2", "--steps", "3", "--delta", "1e-6", "--json"});
  EXPECT_GT(json["epsilon"], less["epsilon"]);
  const nlohmann::json two = json_of(
      {"--noise-multiplier", "2", "--then", "--noise-multiplier", "2", "--steps", "2", "--delta", "1e-6", "--json"});
  EXPECT_NEAR(two["epsilon"].get<double>(), less["epsilon"].get<double>(), 1e-9);
}

TEST(PrivacyAccount, FindsTheNoiseOfABudget) {
  const nlohmann::json json = json_of({"--steps", "10", "--delta", "1e-6", "--target-epsilon", "2", "--json"});
  EXPECT_LE(json["epsilon"], 2.0);
  EXPECT_GT(json["epsilon"], 1.999);
  EXPECT_GT(json["noise_multiplier"], 1.0);
}

TEST(PrivacyAccount, KnowsEachMechanism) {
  for (const char* mechanism : {"gaussian", "laplace", "discrete_gaussian", "discrete_laplace", "skellam"}) {
    const nlohmann::json json = json_of(
        {"--mechanism", mechanism, "--noise-multiplier", "4", "--sensitivity", "3", "--delta", "1e-6", "--json"});
    EXPECT_GT(json["epsilon"], 0.0) << mechanism;
  }
  const Words count = {"--mechanism", "discrete_gaussian", "--noise-multiplier", "1.5", "--delta", "1e-6", "--json"};
  EXPECT_TRUE(json_of(count)["pld"]["epsilon"].is_null()) << "on a grid as coarse as this";
  Words scalar = count;
  scalar.emplace_back("--scalar");
  EXPECT_EQ(json_of(scalar)["method"], "pld");
}

// The figures of docs/operating/privacy.md; closed form of the analytic Gaussian mechanism, computed apart.
TEST(PrivacyAccount, KnowsTreesOfNoise) {
  const Words independent = {"--noise-multiplier", "7", "--steps", "2000", "--delta", "1e-10", "--json"};
  Words separated = independent;
  separated.insert(separated.end(), {"--mechanism", "tree", "--separation", "400"});
  Words periodic = separated;
  periodic.emplace_back("--periodic");
  EXPECT_NEAR(json_of(independent)["epsilon"].get<double>(), 60.3565, 1e-4);
  const nlohmann::json tree = json_of(separated);
  EXPECT_NEAR(tree["epsilon"].get<double>(), 7.51984, 1e-5);
  EXPECT_NEAR(tree["rho"].get<double>(), 63.0 / 98, 1e-9);
  EXPECT_THAT(tree["assumptions"].dump(), AllOf(HasSubstr("at least 400 steps"), HasSubstr("drawn once"),
                                                Not(HasSubstr("may take part in every step"))));
  EXPECT_NEAR(json_of(periodic)["epsilon"].get<double>(), 7.31987, 1e-5);
  Words restarted = separated;  // a second tree of the same size costs as much again
  restarted.insert(restarted.end(), {"--then", "--mechanism", "tree", "--separation", "400", "--noise-multiplier", "7",
                                     "--steps", "2000"});
  EXPECT_NEAR(json_of(restarted)["rho"].get<double>(), 63.0 / 49, 1e-9);
}

TEST(PrivacyAccount, FindsTheNoiseOfATree) {
  const nlohmann::json json = json_of({"--mechanism", "tree", "--separation", "400", "--steps", "2000", "--delta",
                                       "1e-10", "--target-epsilon", "7.51985", "--json"});
  EXPECT_NEAR(json["noise_multiplier"].get<double>(), 7, 1e-3);
  // Who takes part in every step: the search begins at a multiplier that protects nothing.
  const nlohmann::json dense = json_of({"--mechanism", "tree", "--separation", "1", "--steps", "2000", "--delta",
                                        "1e-10", "--target-epsilon", "7.51985", "--json"});
  EXPECT_GT(dense["noise_multiplier"], 1000.0);
  EXPECT_LE(dense["epsilon"], 7.51985);
}

TEST(PrivacyAccount, RefusesTreesThatAreNone) {
  const Words tree = {"--mechanism", "tree", "--noise-multiplier", "7", "--delta", "1e-6"};
  EXPECT_THAT(run(tree).err, HasSubstr("--mechanism tree needs --separation"));
  Words none = tree;
  none.insert(none.end(), {"--separation", "0"});
  EXPECT_THAT(run(none).err, HasSubstr("--separation: must be"));
  Words sampled = tree;
  sampled.insert(sampled.end(), {"--separation", "4", "--sampling", "poisson:0.1"});
  EXPECT_THAT(run(sampled).err, HasSubstr("a tree of noise is not amplified by sampling"));
  Words long_tree = tree;
  long_tree.insert(long_tree.end(), {"--separation", "4", "--steps", "1048577"});
  EXPECT_THAT(run(long_tree).err, HasSubstr("the number of steps of a tree must be from 1 to"));
  for (const Words& of_tree : {Words{"--separation", "4"}, Words{"--periodic"}}) {
    Words gaussian = {"--noise-multiplier", "1", "--delta", "1e-6"};
    gaussian.insert(gaussian.end(), of_tree.begin(), of_tree.end());
    EXPECT_THAT(run(gaussian).err, HasSubstr("are of --mechanism tree alone"));
  }
}

TEST(PrivacyAccount, SaysWhatItExpectedAndWhatItSaw) {
  EXPECT_THAT(run({"--noise-multiplier", "1"}).err, HasSubstr("--delta is required"));
  EXPECT_THAT(run({"--delta", "1e-6"}).err, HasSubstr("group 1 has no --noise-multiplier"));
  EXPECT_THAT(run({"--noise-multiplier", "1", "--delta", "1e-6", "--then"}).err,
              HasSubstr("group 2 has no --noise-multiplier"));
  EXPECT_THAT(run({"--noise-multiplier", "1", "--delta", "1e-6", "--target-epsilon", "2"}).err,
              HasSubstr("but each group has one"));
  EXPECT_THAT(run({"--noise-multiplier", "0", "--delta", "1e-6"}).err,
              HasSubstr("--noise-multiplier: must be a number from 0.01 to"));
  EXPECT_THAT(run({"--noise-multiplier", "nan", "--delta", "1e-6"}).err, HasSubstr("is nan"));
  EXPECT_THAT(run({"--noise-multiplier", "1", "--delta", "2"}).err,
              HasSubstr("--delta: must be a number from 1e-30 to 0.5, is 2"));
  EXPECT_THAT(run({"--sampling", "poisson", "--delta", "1e-6"}).err, HasSubstr("must be none, poisson:RATE"));
  EXPECT_THAT(run({"--sampling", "poisson:2", "--delta", "1e-6"}).err, HasSubstr("from 1e-09 to 1, is 2"));
  EXPECT_THAT(run({"--sampling", "without_replacement:9/3", "--delta", "1e-6"}).err, HasSubstr("not 9 of 3"));
  EXPECT_THAT(run({"--mechanism", "gausian", "--delta", "1e-6"}).err, HasSubstr("Did you mean `gaussian`?"));
  EXPECT_THAT(
      run({"--mechanism", "skellam", "--sampling", "poisson:0.1", "--noise-multiplier", "1", "--delta", "1e-6"}).err,
      HasSubstr("no accountant has a bound"));
}

}  // namespace
}  // namespace coterie

#include "tools/compare/comparison.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/strict_xml.h"
#include "tools/compare/compare_runs.h"
#include "tools/compare/sweep_folder.h"

namespace coterie {
namespace {

using test::read_xml;
using test::Xml;
using testing::HasSubstr;
using testing::Not;

RunRecord run_of(uint64_t seed, const std::vector<double>& accuracies) {
  RunRecord run{
      .folder = "f", .seed = seed, .metric = RunMetric::accuracy, .score = accuracies.back(), .loss = 1, .rounds = {}};
  for (size_t i = 0; i < accuracies.size(); ++i) run.rounds.push_back({i + 1, accuracies[i], 0.5});
  return run;
}

std::vector<Variant> two_variants() {
  return {{"plain", {run_of(1, {0.5, 0.60}), run_of(2, {0.4, 0.70}), run_of(3, {0.6, 0.80})}},
          {"better", {run_of(1, {0.5, 0.70}), run_of(2, {0.4, 0.81}), run_of(3, {0.6, 0.89})}}};
}

TEST(Comparison, HasMeansIntervalsAndPairedDifferences) {
  const std::vector<ComparedVariant> compared = compare(two_variants());
  ASSERT_EQ(compared.size(), 2u);
  EXPECT_NEAR(compared[0].score.mean, 0.7, 1e-12);
  EXPECT_NEAR(*compared[0].score.half_width, 4.303 * 0.1 / std::sqrt(3.0), 1e-9);
  EXPECT_FALSE(compared[0].to_first);
  EXPECT_NEAR(compared[1].to_first->mean, 0.1, 1e-12);
  EXPECT_LT(*compared[1].to_first->half_width, 0.03) << "the runs differ by 0.1 each, whatever their seed";
  EXPECT_DOUBLE_EQ(compared[1].best, 0.89);
  ASSERT_EQ(compared[1].curve.size(), 2u);
  EXPECT_EQ(compared[1].curve[0].round, 1u);
  EXPECT_NEAR(compared[1].curve[0].score.mean, 0.5, 1e-12);
}

TEST(Comparison, LeavesOutRoundsThatARunHasNot) {
  std::vector<Variant> variants = two_variants();
  variants[0].runs[1].rounds.pop_back();
  variants[1].runs[0].rounds[0].score.reset();
  const std::vector<ComparedVariant> compared = compare(variants);
  ASSERT_EQ(compared[0].curve.size(), 1u);
  EXPECT_EQ(compared[0].curve[0].round, 1u);
  ASSERT_EQ(compared[1].curve.size(), 1u);
  EXPECT_EQ(compared[1].curve[0].round, 2u);
}

TEST(Comparison, IsATableFor80Columns) {
  std::vector<Variant> variants = two_variants();
  variants[1].name = std::string(70, 'n');
  const std::string table = comparison_table(compare(variants));
  EXPECT_THAT(table, HasSubstr("plain"));
  EXPECT_THAT(table, HasSubstr("70.0"));
  EXPECT_THAT(table, HasSubstr("+10.0 +-2.5 *"));
  for (size_t begin = 0; begin < table.size();) {
    const size_t end = table.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << table;
    begin = end + 1;
  }
}

TEST(Comparison, OfSingleRunsHasNoIntervals) {
  const std::vector<ComparedVariant> compared = compare({{"a", {run_of(1, {0.5})}}, {"b", {run_of(1, {0.75})}}});
  const std::string table = comparison_table(compared);
  EXPECT_THAT(table, HasSubstr("+25.0"));
  EXPECT_THAT(table, Not(HasSubstr("+-")));
  EXPECT_FALSE(to_json(compared)["variants"][0]["accuracy"].contains("half_width"));
}

TEST(Comparison, IsDrawnWithABandForEachVariant) {
  std::vector<Variant> variants = two_variants();
  variants[1].name = "<b> & \"c\"";
  const std::string document = draw_comparison(compare(variants), "a title");
  const Xml xml = read_xml(document);
  ASSERT_EQ(xml.error, "") << document;
  EXPECT_EQ(xml.named("polygon").size(), 2u);
  EXPECT_EQ(xml.named("polyline").size(), 2u);
  EXPECT_THAT(document, Not(HasSubstr("nan")));
  EXPECT_THAT(document, Not(HasSubstr("inf")));
  EXPECT_THAT(document, HasSubstr("&lt;b&gt; &amp; &quot;c&quot;"));
}

TEST(Comparison, HasAPageWithTheMeansOfEveryRound) {
  std::vector<Variant> variants = two_variants();
  variants[1].name = "</script><b> & \"c\"";
  const std::vector<ComparedVariant> compared = compare(variants);
  const std::string document = draw_comparison_page(compared, "a title"), first = "<!DOCTYPE html>\n";
  ASSERT_EQ(document.substr(0, first.size()), first);
  const Xml xml = read_xml(document.substr(first.size()));
  ASSERT_EQ(xml.error, "") << document;
  const auto cells = xml.named("td");
  const size_t rounds = compared[0].curve.size();
  ASSERT_EQ(cells.size(), 2 * rounds);
  for (size_t i = 0; i < rounds; ++i) {
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(std::stod(cells[2 * i + k].text), compared[k].curve[i].score.mean);
      EXPECT_EQ(cells[2 * i + k].attributes.contains("data-half"), compared[k].curve[i].score.half_width.has_value());
    }
  }
}

TEST(Comparison, DrawsTheBestOfManyAndWhatHasNoCurve) {
  std::vector<Variant> variants;
  for (size_t i = 0; i < 20; ++i) {
    variants.push_back({"v" + std::to_string(i), {run_of(1, {0.1, 0.3 + 0.01 * static_cast<double>(i)})}});
  }
  variants.push_back({"empty", {run_of(1, {0.99})}});
  variants.back().runs[0].rounds.clear();
  const std::string document = draw_comparison(compare(variants), "many");
  ASSERT_EQ(read_xml(document).error, "");
  EXPECT_EQ(read_xml(document).named("polyline").size(), kVariantsDrawnMax);
  EXPECT_THAT(document, HasSubstr("the best 12 of 21 variants"));
  EXPECT_THAT(document, HasSubstr("no accuracy"));
  EXPECT_THAT(document, Not(HasSubstr("v3<")));
}

TEST(Comparison, WritesCsvThatQuotesNames) {
  std::vector<Variant> variants = two_variants();
  variants[0].name = "a,\"b\"";
  const std::string csv = comparison_csv(compare(variants));
  EXPECT_THAT(csv, HasSubstr("variant,round,runs,accuracy,half_width\n\"a,\"\"b\"\"\",1,3,0.500000,"));
}

TEST(Comparison, OfNumbersIsByR2) {
  std::vector<Variant> variants = two_variants();
  for (Variant& variant : variants) {
    for (RunRecord& run : variant.runs) run.metric = RunMetric::r2;
  }
  variants[0].runs[0].rounds[0].score = -40;  // far from what a chart shows
  const std::vector<ComparedVariant> compared = compare(variants);
  const std::string table = comparison_table(compared);
  EXPECT_THAT(table, HasSubstr("R2"));
  EXPECT_THAT(table, HasSubstr("0.700"));
  EXPECT_THAT(table, HasSubstr("+0.100 +-"));
  EXPECT_THAT(table, Not(HasSubstr("0 %")));
  EXPECT_NEAR(to_json(compared)["variants"][1]["r2_best"].get<double>(), 0.89, 1e-12);
  EXPECT_TRUE(to_json(compared)["variants"][0]["r2"].contains("half_width"));
  EXPECT_THAT(comparison_csv(compared), testing::StartsWith("variant,round,runs,r2,half_width\n"));
  const std::string document = draw_comparison(compared, "numbers");
  read_xml(document);
  EXPECT_THAT(document, HasSubstr("R2 on held-out examples"));
  EXPECT_THAT(document, Not(HasSubstr(" %<")));
  EXPECT_THAT(document, HasSubstr("0.800  better"));
}

// ---- Files

TEST(RunMetrics, AreFoundByTheirNames) {
  const auto rounds = parse_metrics("x,evaluation_loss,round,evaluation_accuracy\n,2.5,1,0.5\n9,,4,\n,inf,5,0.75\n",
                                    RunMetric::accuracy);
  ASSERT_OK(rounds);
  ASSERT_EQ(rounds->size(), 3u);
  EXPECT_EQ((*rounds)[1].number, 4u);
  EXPECT_FALSE((*rounds)[1].score);
  EXPECT_EQ((*rounds)[0].loss, 2.5);
  EXPECT_FALSE((*rounds)[2].loss) << "a model that diverged has none";
  EXPECT_EQ((*rounds)[2].score, 0.75);
  EXPECT_EQ(
      parse_metrics("round,evaluation_loss,evaluation_mae,evaluation_r2\n1,2,3,-4\n", RunMetric::r2)->front().score,
      -4);
}

TEST(RunMetrics, SayWhichLineIsWrong) {
  const std::string header = "round,evaluation_loss,evaluation_accuracy\n";
  EXPECT_ERROR(parse_metrics("", RunMetric::accuracy), ErrorCode::malformed, "is empty");
  EXPECT_ERROR(parse_metrics("round,evaluation_loss\n", RunMetric::accuracy), ErrorCode::malformed,
               "no column `evaluation_accuracy`");
  EXPECT_ERROR(parse_metrics(header + "1,1,1\n1,1,1\n", RunMetric::accuracy), ErrorCode::malformed,
               "line 3: round 1 follows round 1");
  EXPECT_ERROR(parse_metrics(header + "1,1,1x\n", RunMetric::accuracy), ErrorCode::malformed,
               "line 2: `1x` is no number");
  EXPECT_ERROR(parse_metrics(header + "-1,1,1\n", RunMetric::accuracy), ErrorCode::malformed, "line 2");
  EXPECT_ERROR(parse_metrics(header + "1,1\n", RunMetric::accuracy), ErrorCode::malformed, "line 2");
}

class RunFolders : public testing::Test {  // of classes, unless said
 protected:
  void write_run(const std::string& name, uint64_t seed, double accuracy) {
    const std::string folder = directory_.path() + "/" + name;
    ASSERT_OK(os::make_directories(folder));
    const nlohmann::json summary = {{"seed", seed}, {"accuracy", accuracy}, {"loss", nullptr}};
    write(name + "/summary.json", summary.dump());
    write(name + "/metrics.csv", "round,evaluation_loss,evaluation_accuracy\n1,1," + std::to_string(accuracy) + "\n");
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_OK(os::write_file_atomically(directory_.path() + "/" + name, as_bytes(text)));
  }
  std::string at(const std::string& name) const { return directory_.path() + "/" + name; }
  test::TemporaryDirectory directory_;
};

TEST_F(RunFolders, AreNamedOneByOneOrTogether) {
  write_run("a", 1, 0.5);
  write_run("b", 2, 0.7);
  write_run("c", 1, 0.9);
  const auto variants = read_variants({"two=" + at("a") + "," + at("b"), at("c")});
  ASSERT_OK(variants);
  ASSERT_EQ(variants->size(), 2u);
  EXPECT_EQ((*variants)[0].name, "two");
  EXPECT_EQ((*variants)[0].runs.size(), 2u);
  EXPECT_EQ((*variants)[1].name, at("c"));
  const std::vector<ComparedVariant> compared = compare(*variants);
  EXPECT_FALSE(compared[0].loss) << "null: not finite";
  EXPECT_NEAR(compared[1].to_first->mean, 0.4, 1e-6) << "by the one seed that both have";
}

TEST_F(RunFolders, AreRefusedByName) {
  write_run("a", 1, 0.5);
  EXPECT_ERROR(read_variants({at("nothing")}), ErrorCode::not_found, "nothing/summary.json");
  ASSERT_OK(os::make_directories(at("n")));
  write("n/summary.json", R"({"seed": 1, "r2": 0.5, "loss": 1})");
  write("n/metrics.csv", "round,evaluation_loss,evaluation_mae,evaluation_r2\n1,1,2,0.25\n");
  const auto numbers = read_variants({at("n")});
  ASSERT_OK(numbers);
  EXPECT_EQ((*numbers)[0].runs[0].metric, RunMetric::r2);
  EXPECT_EQ((*numbers)[0].runs[0].rounds[0].score, 0.25);
  EXPECT_ERROR(read_variants({at("a"), at("n")}), ErrorCode::invalid_argument, "do not compare");
  EXPECT_ERROR(read_variants({at("a"), at("a")}), ErrorCode::invalid_argument, "two variants are named");
  EXPECT_ERROR(read_variants({"x=" + at("a") + ","}), ErrorCode::invalid_argument, "a folder without a name");
  write("a/metrics.csv", "round\n");
  EXPECT_ERROR(read_variants({at("a")}), ErrorCode::malformed, "a/metrics.csv");
  write("a/summary.json", "{\"seed\": -1, \"accuracy\": 1}");
  EXPECT_ERROR(read_variants({at("a")}), ErrorCode::malformed, "a/summary.json");
}

TEST_F(RunFolders, OfASweepAreItsVariants) {
  const SweepPlan plan{.variants = {"x=1", "x=2"}, .seeds = {7, 8}, .request_digest = "d"};
  ASSERT_OK(os::make_directories(at("s")));
  write("s/sweep.json", sweep_json(plan));
  EXPECT_ERROR(read_variants({at("s")}), ErrorCode::not_found, "no run of this sweep is done");
  write_run("s/01/seed-8", 8, 0.25);
  const auto variants = read_variants({at("s")});
  ASSERT_OK(variants);
  ASSERT_EQ(variants->size(), 1u) << "the other has no run yet";
  EXPECT_EQ((*variants)[0].name, "x=1");
  EXPECT_EQ(read_sweep(at("s")).value(), plan);
}

TEST(SweepFile, IsRefusedUnlessItIsOne) {
  EXPECT_ERROR(parse_sweep("[]"), ErrorCode::malformed, "object");
  EXPECT_ERROR(parse_sweep("{}"), ErrorCode::malformed, "schema");
  const SweepPlan plan{.variants = {"a"}, .seeds = {1}, .request_digest = "d"};
  std::string text = sweep_json(plan);
  EXPECT_OK(parse_sweep(text));
  text.replace(text.find("1\n"), 1, "-1");
  EXPECT_ERROR(parse_sweep(text), ErrorCode::malformed, "seeds");
}

}  // namespace
}  // namespace coterie

#include "scheduler/selection/selection_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/selection/selection_registry.h"
#include "scheduler/selection/selection_settings.h"
#include "scheduler/selection/trained_reports.h"

namespace coterie {
namespace {

DeviceId device_of(uint32_t number) {
  DeviceId device;
  for (size_t i = 0; i < 4; ++i) device.bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  return device;
}

using Reports = std::vector<std::optional<TrainedReport>>;

// How often each device is drawn, in so many draws of devices in random order.
std::vector<uint64_t> drawn_of(const SelectionSettings& selection, const Reports& reports, size_t tickets, int draws,
                               uint64_t version = 10) {
  Prng chance(7);
  std::vector<uint64_t> drawn(reports.size());
  std::vector<uint32_t> order(reports.size());
  std::iota(order.begin(), order.end(), 0u);
  for (int i = 0; i < draws; ++i) {
    chance.shuffle(order);
    std::vector<const TrainedReport*> known;
    for (const uint32_t device : order) known.push_back(reports[device] ? &*reports[device] : nullptr);
    const std::vector<uint32_t> chosen = selection.choose(known, tickets, version, chance);
    EXPECT_EQ(std::set<uint32_t>(chosen.begin(), chosen.end()).size(), std::min(tickets, reports.size()));
    for (const uint32_t index : chosen) ++drawn[order.at(index)];
  }
  return drawn;
}

TrainedReport counted_so_often(uint32_t rounds) { return {.counted = rounds}; }
TrainedReport with_loss(uint8_t level) { return {.loss_level = level, .seconds_level = 3, .version = 9, .counted = 1}; }
TrainedReport silent(uint32_t tickets) { return {.version = 9, .asked = tickets}; }

// Pearson's statistic beside what is expected of each. With k classes it is 3.3 standard deviations off at
// k + 3.3 sqrt(2k), roughly.
double chi_square(const std::vector<uint64_t>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double off = static_cast<double>(seen[i]) - expected[i];
    sum += off * off / expected[i];
  }
  return sum;
}

double binomial(int n, int k) {
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0));
}

TEST(SelectionRule, EachGivesAsManyTicketsAsThereAreDevicesFor) {
  for (const SelectionRule* rule : selection_rules()) {
    const SelectionSettings selection = SelectionSettings::of(rule->name);
    for (size_t known = 0; known <= 6; ++known) {
      Reports reports(6);
      for (size_t i = 0; i < known; ++i) reports[i] = with_loss(static_cast<uint8_t>(i));
      for (size_t tickets = 0; tickets <= 8; ++tickets) drawn_of(selection, reports, tickets, 5);
    }
    EXPECT_EQ(find_selection(rule->name), rule);
    for (const SelectionSetting& setting : rule->settings) EXPECT_TRUE(setting.range.admits(setting.default_value));
  }
  EXPECT_EQ(find_selection("by_horoscope"), nullptr);
}

TEST(SelectionRule, EachIsUniformWhereNothingIsKnownOrAllAreAlike) {
  for (const SelectionRule* rule : selection_rules()) {
    for (const bool is_known : {false, true}) {
      const Reports reports(12, is_known ? std::optional(with_loss(5)) : std::nullopt);
      const auto drawn = drawn_of(SelectionSettings::of(rule->name), reports, 3, 20'000);
      EXPECT_LT(chi_square(drawn, std::vector<double>(12, 5'000)), 28) << rule->name << is_known;
    }
  }
}

// One device in five takes its tickets and never sends an update.
TEST(SelectionRule, NoneHasMoreTicketsForThoseWhoNeverFinish) {
  constexpr uint32_t kDevices = 40, kSilent = 8;
  constexpr size_t kTickets = 5;
  constexpr uint64_t kRounds = 400;
  const JobId job("j");
  for (const SelectionRule* rule : selection_rules()) {
    if (rule->memory == SelectionMemory::nothing) continue;
    Prng chance(5);
    TrainedReports reports;
    uint32_t to_silent = 0;
    std::vector<uint32_t> order(kDevices);
    std::iota(order.begin(), order.end(), 0u);
    for (uint64_t version = 0; version < kRounds; ++version) {
      chance.shuffle(order);
      std::vector<const TrainedReport*> known;
      for (const uint32_t device : order) known.push_back(reports.find(job, device_of(device)));
      for (const uint32_t i : SelectionSettings::of(rule->name).choose(known, kTickets, version, chance)) {
        const uint32_t device = order.at(i);
        reports.asked(job, device_of(device), version);
        if (device < kSilent) ++to_silent;
        else reports.trained(job, device_of(device), {.loss_level = uint8_t(4 + device % 6), .version = version});
      }
    }
    EXPECT_GE(to_silent, kSilent) << rule->name << ": each is asked once";
    EXPECT_LT(to_silent, kRounds * kTickets * 0.23) << rule->name;  // a fifth, and three standard deviations
  }
}

// There are n devices with different losses: d of them are drawn, and m are taken. The device of rank r (1: highest) is
// taken if it is among the d, and fewer than m of those above it are:
//   P = d/n * sum over j < m of C(r-1, j) C(n-r, d-1-j) / C(n-1, d-1)
TEST(PowerOfChoice, TakesEachRankAsOftenAsItsClosedForm) {
  constexpr int kDevices = 14, kTickets = 2, kCandidates = 6, kDraws = 40'000;
  Reports reports;
  for (uint8_t i = 0; i < kDevices; ++i) reports.push_back(with_loss(static_cast<uint8_t>(kDevices - i)));
  std::vector<double> expected;
  for (int rank = 1; rank <= kDevices; ++rank) {
    double sum = 0;
    for (int above = 0; above < kTickets && above <= rank - 1; ++above) {
      if (kCandidates - 1 - above > kDevices - rank) continue;
      sum += binomial(rank - 1, above) * binomial(kDevices - rank, kCandidates - 1 - above) /
             binomial(kDevices - 1, kCandidates - 1);
    }
    expected.push_back(kDraws * sum * kCandidates / kDevices);
  }
  EXPECT_NEAR(std::accumulate(expected.begin(), expected.end(), 0.0), kDraws * kTickets, 1e-6);
  auto drawn =
      drawn_of(SelectionSettings::of("power_of_choice").with("candidates_ratio", 3), reports, kTickets, kDraws);
  while (expected.back() < 1) {  // the lowest ranks are never taken
    EXPECT_EQ(drawn.back(), 0u);
    expected.pop_back();
    drawn.pop_back();
  }
  EXPECT_LT(chi_square(drawn, expected), 32) << "of about 10 classes";
}

TEST(PowerOfChoice, IsUniformWithAsManyCandidatesAsTickets) {
  Reports reports;
  for (uint8_t i = 0; i < 12; ++i) reports.push_back(with_loss(i));
  const auto drawn = drawn_of(SelectionSettings::of("power_of_choice").with("candidates_ratio", 1), reports, 3, 20'000);
  EXPECT_LT(chi_square(drawn, std::vector<double>(12, 5'000)), 28);
}

TEST(PowerOfChoice, AsksWhoIsUnknownBeforeWhoIsKnown) {
  Reports reports(9, with_loss(15));
  reports[4] = std::nullopt;
  const auto drawn = drawn_of(SelectionSettings::of("power_of_choice").with("candidates_ratio", 20), reports, 1, 100);
  EXPECT_EQ(drawn[4], 100u);
}

TEST(PowerOfChoice, HalvesALossForEachTicketWithoutAnUpdate) {
  const SelectionSettings selection = SelectionSettings::of("power_of_choice").with("candidates_ratio", 20);
  TrainedReport high = with_loss(10);
  const auto is_first = [&](const TrainedReport& report) {
    return drawn_of(selection, {report, with_loss(7)}, 1, 20)[0] == 20;
  };
  EXPECT_TRUE(is_first(high));
  high.asked = 1;  // as level 8
  EXPECT_TRUE(is_first(high));
  high.asked = 2;  // as level 6
  EXPECT_EQ(drawn_of(selection, {high, with_loss(7)}, 1, 20)[1], 20u);
  EXPECT_EQ(drawn_of(selection, {silent(1), with_loss(0)}, 1, 20)[1], 20u) << "who said nothing is behind all";
  EXPECT_EQ(drawn_of(selection, {silent(2), silent(1)}, 1, 20)[1], 20u);
}

TEST(Balanced, CountsTicketsWithoutAnUpdateToo) {
  const SelectionSettings selection = SelectionSettings::of("balanced").with("exponent", 1).with("ratio_max", 6);
  TrainedReport both = counted_so_often(1);
  both.asked = 1;
  // 1, 1/3, 1/3
  EXPECT_LT(chi_square(drawn_of(selection, {std::nullopt, silent(2), both}, 1, 20'000), {12'000, 4'000, 4'000}), 16);
}

TEST(Balanced, DrawsInInverseProportionToParticipation) {
  const Reports reports = {std::nullopt, counted_so_often(1), counted_so_often(2), counted_so_often(1'000)};
  const SelectionSettings selection = SelectionSettings::of("balanced").with("exponent", 1).with("ratio_max", 6);
  // 1, 1/2, 1/3, and 1/6 as the least
  EXPECT_LT(chi_square(drawn_of(selection, reports, 1, 24'000), {12'000, 6'000, 4'000, 2'000}), 18);
}

// Two groups of devices, one of which is there four times as often. A uniform draw counts it four times as often, a
// balanced one 4 ^ (1 / (1 + exponent)) times.
TEST(Balanced, CountsDevicesAlikeThatAreThereMoreOrLessOften) {
  constexpr size_t kDevices = 200;
  const auto share_of_rare = [&](const SelectionSettings& selection) {
    Prng chance(3);
    TrainedReports reports;
    const JobId job("j");
    double rare = 0, all = 0;
    for (int round = 0; round < 400; ++round) {
      std::vector<uint32_t> here;
      for (uint32_t i = 0; i < kDevices; ++i) {
        if (chance.chance(i < kDevices / 2 ? 0.2 : 0.8)) here.push_back(i);
      }
      chance.shuffle(here);
      std::vector<const TrainedReport*> known;
      for (const uint32_t i : here) known.push_back(reports.find(job, device_of(i)));
      for (const uint32_t index : selection.choose(known, 10, 1, chance)) {
        reports.counted(job, device_of(here[index]));
        rare += here[index] < kDevices / 2 ? 1 : 0;
        ++all;
      }
    }
    return rare / all;
  };
  EXPECT_NEAR(share_of_rare(SelectionSettings()), 0.2, 0.03);
  const SelectionSettings balanced = SelectionSettings::of("balanced").with("ratio_max", 64);
  EXPECT_NEAR(share_of_rare(balanced.with("exponent", 1)), 1.0 / 3, 0.03);
  EXPECT_NEAR(share_of_rare(balanced.with("exponent", 3)), 1 / (1 + std::sqrt(2)), 0.03);
}

SelectionSettings plain_utility() {
  return SelectionSettings::of("utility").with("staleness_bonus", 0).with("speed_exponent", 0).with("ratio_max", 4);
}

// One ticket goes to each in proportion to its score. Losses of levels 0, 5 and 10 have rewards 0, 1/2 and 1; the first
// counts as 1/4, the highest divided by ratio_max.
TEST(Utility, DrawsInProportionToTheScore) {
  const Reports reports = {with_loss(0), with_loss(5), with_loss(10)};
  const auto drawn = drawn_of(plain_utility(), reports, 1, 21'000);
  EXPECT_LT(chi_square(drawn, {3'000, 6'000, 12'000}), 16);
}

// Without replacement: the second of two is drawn among those whom the first has left.
TEST(Utility, DrawsOneAfterTheOther) {
  const Reports reports = {with_loss(0), with_loss(5), with_loss(10)};
  const double p[] = {1.0 / 7, 2.0 / 7, 4.0 / 7};
  std::vector<double> expected;
  for (int i = 0; i < 3; ++i) {
    double taken = p[i];
    for (int first = 0; first < 3; ++first) taken += first == i ? 0 : p[first] * p[i] / (1 - p[first]);
    expected.push_back(20'000 * taken);
  }
  EXPECT_LT(chi_square(drawn_of(plain_utility(), reports, 2, 20'000), expected), 16);
}

TEST(Utility, PrefersTheFastAndWhoWasNotDrawnForLong) {
  const TrainedReport fast{.loss_level = 5, .seconds_level = 2, .version = 9, .counted = 1};
  TrainedReport slow = fast, old = fast;
  slow.seconds_level = 3;  // an octave
  old.version = 2;
  const auto by_speed = drawn_of(plain_utility().with("speed_exponent", 1), {fast, fast, slow}, 1, 20'000);
  EXPECT_LT(chi_square(by_speed, {8'000, 8'000, 4'000}), 16);
  const double young = 1 + std::sqrt(0.5 * std::log(10) / 9), aged = 1 + std::sqrt(0.5 * std::log(10) / 2);
  const auto by_age = drawn_of(plain_utility().with("staleness_bonus", 0.5f), {fast, old}, 1, 20'000);
  EXPECT_LT(chi_square(by_age, {20'000 * young / (young + aged), 20'000 * aged / (young + aged)}), 12);
}

// Who was asked and never counted has no reward, and is not explored again.
TEST(Utility, HasNoRewardForWhoWasNeverCounted) {
  TrainedReport unanswered = with_loss(10);
  unanswered.asked = 1;  // half of its reward of 1
  const Reports reports = {silent(3), with_loss(5), with_loss(10), unanswered};
  EXPECT_LT(chi_square(drawn_of(plain_utility(), reports, 1, 24'000), {3'000, 3'000, 12'000, 6'000}), 16);
}

TEST(Utility, ExploresAShareOfTheTickets) {
  Reports reports(40, with_loss(5));
  for (size_t i = 0; i < 20; ++i) reports[i] = std::nullopt;
  const auto drawn = drawn_of(plain_utility().with("exploration", 0.3f), reports, 5, 4'000);
  const double unknown = static_cast<double>(std::accumulate(drawn.begin(), drawn.begin() + 20, uint64_t{0}));
  EXPECT_NEAR(unknown, 0.3 * 5 * 4'000, 150);  // 1 or 2 of 5, by chance: standard deviation 32
}

TEST(TrainedReport, HasFewLevelsWhateverIsSaid) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(report_of(100, 100, 4'000, 3), (TrainedReport{.loss_level = 8, .seconds_level = 4, .version = 3}));
  EXPECT_EQ(report_of(141, 100, 4'000, 3).loss_level, 8);
  EXPECT_EQ(report_of(142, 100, 4'000, 3).loss_level, 9) << "by the root of 2";
  for (const double nonsense : {-1.0, 0.0, kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_EQ(report_of(nonsense, 10, 1'000, 1).loss_level, 0) << nonsense;
  }
  EXPECT_EQ(report_of(5, 0, 1'000, 1).loss_level, 0);
  EXPECT_EQ(report_of(1e300, 1, UINT64_MAX, 1),
            (TrainedReport{.loss_level = kReportLevels - 1, .seconds_level = kReportLevels - 1, .version = 1}));
}

TEST(TrainedReports, KeepThoseThatCameLast) {
  TrainedReports reports;
  const JobId job("j");
  EXPECT_EQ(reports.find(job, device_of(1)), nullptr);
  reports.trained(job, device_of(1), with_loss(1));
  reports.trained(job, device_of(1), with_loss(2));
  ASSERT_NE(reports.find(job, device_of(1)), nullptr);
  EXPECT_EQ(reports.find(job, device_of(1))->loss_level, 2);
  EXPECT_EQ(reports.find(job, device_of(1))->counted, 2u);
  reports.asked(job, device_of(1), 12);
  EXPECT_EQ(*reports.find(job, device_of(1)),
            (TrainedReport{.loss_level = 2, .seconds_level = 3, .version = 12, .counted = 2, .asked = 1}));
  reports.trained(job, device_of(1), with_loss(2));
  EXPECT_EQ(reports.find(job, device_of(1))->asked, 0u);
  reports.asked(job, device_of(0), 1);
  reports.asked(job, device_of(0), 2);
  reports.asked_in_vain(job, device_of(0));
  EXPECT_EQ(*reports.find(job, device_of(0)), (TrainedReport{.version = 2, .asked = 1}));
  reports.asked_in_vain(job, device_of(0));
  EXPECT_EQ(reports.find(job, device_of(0)), nullptr) << "it had no ticket";
  EXPECT_EQ(reports.find(JobId("other"), device_of(1)), nullptr);
  for (uint32_t i = 2; i < 2 * TrainedReports::kHalfMax + 2; ++i) reports.trained(job, device_of(i), with_loss(3));
  EXPECT_EQ(reports.find(job, device_of(1)), nullptr);
  EXPECT_NE(reports.find(job, device_of(TrainedReports::kHalfMax + 5)), nullptr);
  for (size_t i = 0; i < TrainedReports::kJobsMax; ++i) {
    reports.trained(JobId("job " + std::to_string(i)), device_of(1), with_loss(1));
  }
  EXPECT_EQ(reports.find(job, device_of(TrainedReports::kHalfMax + 5)), nullptr) << "its job was the oldest";
}

}  // namespace
}  // namespace coterie

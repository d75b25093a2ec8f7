// Degrees and thresholds against published points, and against the probabilities they are to keep.
#include "secure/secagg/graph_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "secure/secagg/hypergeometric.h"
#include "tests/support/matchers.h"

namespace coterie::secagg {
namespace {

constexpr Adversary kCurious = Adversary::curious_server, kActive = Adversary::active_server;

struct Point {
  GraphNeeds needs;
  GraphParameters expected;
};

// What google-parfait/federated-compute expects of its finder (fcp/secagg/server/graph_parameter_finder_test.cc), for
// cohorts that are not larger than ours. One is different: for 10 devices of which a third vanish it has 4/2, as it
// raises the threshold to two after it has asked whether the neighbours that are left are enough.
const Point kPublished[] = {
    {{100, 0.45, 0.45, kCurious}, {92, 46}},       {{1000, 0.45, 0.45, kCurious}, {822, 417}},
    {{10000, 0.45, 0.45, kCurious}, {3494, 1771}}, {{10, 0.33, 0.33, kCurious}, {8, 4}},
    {{100, 0.33, 0.33, kCurious}, {68, 34}},       {{1000, 0.33, 0.33, kCurious}, {286, 150}},
    {{10000, 0.33, 0.33, kCurious}, {422, 221}},   {{10, 0.05, 0.33, kCurious}, {6, 2}},  // see below
    {{100, 0.05, 0.33, kCurious}, {28, 6}},        {{1000, 0.05, 0.33, kCurious}, {72, 24}},
    {{10000, 0.05, 0.33, kCurious}, {86, 29}},     {{10, 0.33, 0.05, kCurious}, {4, 4}},
    {{100, 0.33, 0.05, kCurious}, {34, 29}},       {{1000, 0.33, 0.05, kCurious}, {78, 60}},
    {{10000, 0.33, 0.05, kCurious}, {92, 70}},     {{100, 0.3, 0.3, kActive}, {92, 62}},
    {{1000, 0.3, 0.3, kActive}, {872, 584}},       {{10000, 0.3, 0.3, kActive}, {4822, 3230}},
    {{10, 0.05, 0.33, kActive}, {8, 5}},           {{100, 0.05, 0.33, kActive}, {72, 39}},
    {{1000, 0.05, 0.33, kActive}, {398, 223}},     {{10000, 0.05, 0.33, kActive}, {746, 420}},
    {{10, 0.33, 0.05, kActive}, {4, 4}},           {{100, 0.33, 0.05, kActive}, {42, 37}},
    {{1000, 0.33, 0.05, kActive}, {132, 109}},     {{10000, 0.33, 0.05, kActive}, {178, 146}},
    {{1000, 0.05, 0.05, kCurious}, {30, 17}},      {{10000, 0.05, 0.05, kCurious}, {34, 20}},
    {{1000, 0.05, 0.05, kActive}, {52, 37}},       {{10000, 0.05, 0.05, kActive}, {62, 44}},
};

TEST(SparseGraph, IsThePublishedOne) {
  for (const Point& point : kPublished) {
    const Result<GraphParameters> found = sparse_graph(point.needs);
    ASSERT_OK(found);
    EXPECT_EQ(*found, point.expected) << point.needs.cohort_size << " devices, " << point.needs.corrupt_share
                                      << " corrupt, " << point.needs.dropout_share << " vanish: " << found->degree
                                      << "/" << found->threshold;
  }
}

// Degree and threshold by corrupt and dropout share, of one cohort size.
struct Row {
  uint32_t cohort_size;
  std::vector<GraphParameters> expected;
};

void expect_rows(Adversary adversary, const std::vector<std::pair<double, double>>& shares,
                 const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (size_t i = 0; i < shares.size(); ++i) {
      const auto [corrupt, dropouts] = shares[i];
      const Result<GraphParameters> found = sparse_graph({row.cohort_size, corrupt, dropouts, adversary});
      ASSERT_OK(found);
      EXPECT_EQ(*found, row.expected[i]) << row.cohort_size << " devices, " << corrupt << " corrupt, " << dropouts
                                         << " vanish: " << found->degree << "/" << found->threshold;
    }
  }
}

// Two ports of the published finder, in other languages, agreed on these.
TEST(SparseGraph, IsThatOfOtherPorts) {
  expect_rows(
      kCurious,
      {{.05, .05}, {.05, .1}, {.05, .3}, {.1, .05}, {.1, .1}, {.1, .3}, {.2, .1}, {.2, .3}, {1. / 3, .1}, {1. / 3, .3}},
      {{100, {{12, 6}, {16, 6}, {26, 6}, {16, 11}, {22, 11}, {34, 11}, {32, 21}, {48, 21}, {42, 32}, {64, 34}}},
       {500, {{28, 16}, {32, 17}, {58, 20}, {32, 21}, {42, 24}, {76, 31}, {60, 39}, {120, 57}, {90, 64}, {194, 106}}},
       {1000, {{30, 17}, {36, 19}, {66, 23}, {38, 24}, {48, 27}, {88, 36}, {68, 44}, {140, 67}, {102, 72}, {252, 138}}},
       {2000, {{30, 18}, {38, 20}, {70, 25}, {40, 26}, {50, 28}, {98, 40}, {70, 45}, {160, 76}, {112, 79}, {298, 163}}},
       {10000,
        {{34, 20}, {42, 22}, {80, 29}, {42, 27}, {54, 31}, {108, 44}, {80, 51}, {182, 87}, {126, 88}, {360, 196}}}});
  expect_rows(kActive, {{.05, .05}, {.05, .1}, {.05, .2}, {.05, .3}, {.1, .1}, {.1, .3}, {.2, .1}, {.2, .3}},
              {{100, {{16, 11}, {26, 16}, {44, 25}, {66, 36}, {32, 22}, {72, 42}, {42, 32}, {82, 52}}},
               {500, {{44, 31}, {66, 44}, {122, 74}, {212, 119}, {82, 57}, {276, 164}, {116, 86}, {376, 239}}},
               {1000, {{52, 37}, {78, 52}, {148, 90}, {314, 179}, {96, 67}, {414, 247}, {140, 104}, {642, 409}}},
               {2000, {{56, 40}, {84, 56}, {172, 105}, {394, 225}, {106, 74}, {552, 330}, {158, 117}, {986, 628}}},
               {10000, {{62, 44}, {96, 64}, {202, 123}, {522, 299}, {122, 85}, {778, 465}, {184, 136}, {1790, 1140}}}});
}

TEST(SparseGraph, RefusesWhatCannotBe) {
  for (const GraphNeeds& needs : std::vector<GraphNeeds>{{1, 0, 0}, {0, 0, 0}, {kCohortSizeMax + 1, 0, 0}}) {
    const Result<GraphParameters> found = sparse_graph(needs);
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().message(), "a cohort has 2 to 10000 devices, not " + std::to_string(needs.cohort_size));
  }
  for (const double share : {-0.1, 1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(sparse_graph({100, share, 0}).has_value()) << share;
    EXPECT_FALSE(sparse_graph({100, 0, share}).has_value()) << share;
  }
  EXPECT_FALSE(sparse_graph({100, 0.5, 0.45}).has_value());
  EXPECT_FALSE(sparse_graph({100, 0.3, 0.31, kActive}).has_value());
  const Result<GraphParameters> two = sparse_graph({2, 0, 0});
  ASSERT_FALSE(two.has_value());
  EXPECT_NE(two.error().message().find("a complete graph"), std::string::npos) << two.error().message();
}

TEST(SparseGraph, NeedsMoreOfMoreLosses) {
  for (const Adversary adversary : {kCurious, kActive}) {
    uint32_t before = 0;
    for (const double share : {0.02, 0.05, 0.1, 0.15, 0.2, 0.25}) {
      const Result<GraphParameters> found = sparse_graph({800, share, share, adversary});
      ASSERT_OK(found);
      EXPECT_GT(found->degree, before);
      EXPECT_LE(found->threshold, found->degree);
      before = found->degree;
    }
  }
}

// So few that nothing about them is seldom: whoever of the planned ones vanishes, the rest of a device's holders are
// enough.
TEST(SparseGraph, SmallCohortsCanLoseWhomTheyPlanToLose) {
  for (uint32_t size = 3; size <= 10; ++size) {
    for (const double dropout_share : {0.0, 0.1, 0.2, 0.3}) {
      const auto lost = static_cast<uint32_t>(dropout_share * size + 1e-9);
      const auto graph = sparse_graph({size, .1, dropout_share, Adversary::curious_server});
      if (graph)
        EXPECT_LE(graph->threshold + std::min(lost, graph->degree), graph->degree) << size << " " << dropout_share;
    }
  }
}

TEST(CompleteGraph, KeepsTwoThirds) {
  EXPECT_EQ(*complete_graph(2), (GraphParameters{1, 2}));
  EXPECT_EQ(*complete_graph(3), (GraphParameters{2, 3}));
  EXPECT_EQ(*complete_graph(200), (GraphParameters{199, 134}));
  EXPECT_EQ(*complete_graph(255), (GraphParameters{254, 171}));
  EXPECT_FALSE(complete_graph(1).has_value());
  EXPECT_FALSE(complete_graph(256).has_value());
  for (uint32_t n = 2; n <= kCompleteCohortMax; ++n) {
    const uint32_t corrupt = (n - 1) / 3;  // less than a third
    EXPECT_GT(2 * complete_graph(n)->threshold, n + corrupt) << n;
  }
}

// Every draw of `drawn` from six, marked ones first.
TEST(Hypergeometric, CountsEveryDraw) {
  const LogFactorials log_factorials(6);
  for (uint32_t marked = 0; marked <= 6; ++marked) {
    for (uint32_t drawn = 0; drawn <= 6; ++drawn) {
      std::vector<double> share(8, 0);
      double draws = 0;
      for (uint32_t set = 0; set < 64; ++set) {
        if (static_cast<uint32_t>(__builtin_popcount(set)) != drawn) continue;
        ++share[static_cast<size_t>(__builtin_popcount(set & ((1u << marked) - 1)))];
        ++draws;
      }
      const Hypergeometric h(log_factorials, 6, marked, drawn);
      for (const double probability : {1e-3, 0.02, 0.11, 0.31, 0.52, 0.77, 0.93}) {
        uint32_t exceeded = 0, missed = 0;
        const auto above = [&](uint32_t x) { return std::accumulate(share.begin() + x + 1, share.end(), 0.0) / draws; };
        const auto below = [&](uint32_t x) { return std::accumulate(share.begin(), share.begin() + x, 0.0) / draws; };
        while (above(exceeded) >= probability) ++exceeded;
        while (missed < drawn && below(missed + 1) < probability) ++missed;
        EXPECT_EQ(h.least_seldom_exceeded(probability), exceeded) << marked << " " << drawn << " " << probability;
        EXPECT_EQ(h.largest_seldom_missed(probability), missed) << marked << " " << drawn << " " << probability;
      }
    }
  }
}

}  // namespace
}  // namespace coterie::secagg

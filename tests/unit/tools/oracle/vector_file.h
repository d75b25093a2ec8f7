// What a reference simulator found lies beside the repository (COTERIE_AGGREGATION_VECTORS). Tests that compare with it
// are skipped where it is absent.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace coterie::test {

inline std::optional<nlohmann::json> read_vectors(const std::string& name) {
  std::ifstream file(COTERIE_AGGREGATION_VECTORS "/" + name);
  if (!file) return std::nullopt;
  return nlohmann::json::parse(file);
}

// The largest difference, as a share of the largest value that is expected; infinite unless all values are finite, and
// one of those expected is not 0.
inline double relative_error(std::span<const float> got, const std::vector<double>& expected) {
  EXPECT_GE(got.size(), expected.size());
  if (got.size() < expected.size()) return INFINITY;
  double worst = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(got[i]) || !std::isfinite(expected[i])) return INFINITY;
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - expected[i]));
    size = std::max(size, std::abs(expected[i]));
  }
  return size > 0 ? worst / size : INFINITY;
}

// Each key of the file is compared or left out for a reason, and no key is named that the file has not.
inline void expect_all_named(const nlohmann::json& file, const std::set<std::string>& compared,
                             const std::map<std::string, std::string>& left_out) {
  for (const auto& [key, value] : file.items()) {
    EXPECT_EQ(compared.count(key) + left_out.count(key), 1u) << key << " is to be compared, or left out for a reason";
  }
  for (const std::string& key : compared) EXPECT_TRUE(file.contains(key)) << key;
  for (const auto& [key, reason] : left_out) EXPECT_TRUE(file.contains(key)) << key;
}

}  // namespace coterie::test

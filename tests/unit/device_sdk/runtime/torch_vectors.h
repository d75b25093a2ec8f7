// Reads tests/golden/torch/vectors.txt, and draws the inputs that its answers belong to. The format and the generator
// are described in make_vectors.py beside it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace coterie::test {

// SplitMix64, as class Draw of make_vectors.py: numbers that are exact in float32.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double number() { return static_cast<double>(next() >> 40) * 0x1p-23 - 1.0; }
  std::vector<float> floats(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(number());
    return values;
  }
  std::vector<int32_t> labels(size_t count, size_t classes) {
    std::vector<int32_t> values(count);
    for (int32_t& value : values) value = static_cast<int32_t>(next() % classes);
    return values;
  }

 private:
  uint64_t state_;
};

struct TorchCase {
  std::string kind;
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::vector<double>> answers;

  double number(const std::string& key) const { return std::stod(attributes.at(key)); }
  uint64_t seed() const { return static_cast<uint64_t>(number("seed")); }
  std::vector<size_t> list(const std::string& key) const {
    std::vector<size_t> values;
    std::istringstream words(attributes.at(key));
    for (std::string word; std::getline(words, word, ',');) values.push_back(std::stoul(word));
    return values;
  }
  const std::vector<double>& answer(const std::string& name) const { return answers.at(name); }
};

inline std::vector<TorchCase> torch_cases(const std::string& kind, const std::string& name = "vectors.txt") {
  std::ifstream file(source_dir() + "/tests/golden/torch/" + name);
  EXPECT_TRUE(file.is_open());
  std::vector<TorchCase> cases;
  bool wanted = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "#") continue;
    if (first == "case") {
      TorchCase made;
      words >> made.kind;
      for (std::string word; words >> word;) {
        const size_t equals = word.find('=');
        made.attributes[word.substr(0, equals)] = word.substr(equals + 1);
      }
      wanted = made.kind == kind;
      if (wanted) cases.push_back(std::move(made));
    } else if (wanted) {
      size_t count = 0;
      words >> count;
      std::vector<double> values;
      for (std::string word; words >> word;) values.push_back(std::stod(word));
      EXPECT_EQ(values.size(), count) << line.substr(0, 60);
      cases.back().answers[first] = std::move(values);
    }
  }
  EXPECT_FALSE(cases.empty()) << kind;
  return cases;
}

// Each value within `tolerance` of PyTorch's, relative to the largest of them.
inline void expect_near(const std::vector<float>& got, const std::vector<double>& expected, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double scale = 1e-3;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], tolerance * scale) << what << "[" << i << "]";
  }
}

}  // namespace coterie::test

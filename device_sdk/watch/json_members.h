// JsonMembers: takes a JSON object apart member by member and collects everything that is wrong with it, without a tree
// and without a library of JSON's: what a device carries.
//
//   JsonMembers members(text, "", problems);
//   members.read("every", plan.every, 1, kWatchEveryMax);  // absent: keeps the default
//   members.finish();                                      // whatever was not asked for is an unknown key
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/result.h"

namespace coterie {

class JsonMembers {
 public:
  // `text` is one JSON value and outlives the reader; one that is no object, or has a key twice, is a problem.
  JsonMembers(std::string_view text, std::string pointer, Problems& problems);

  bool has(std::string_view key) const;
  void read(std::string_view key, std::string& value);
  // A whole number in [min, max].
  void read(std::string_view key, uint32_t& value, uint32_t min, uint32_t max);
  void read(std::string_view key, uint64_t& value);
  // None: it is absent, or no number; the latter is a problem.
  std::optional<double> number(std::string_view key);
  // The texts of the elements of a list that has 1 to `most` of them; else none, and a problem that says `what` they
  // are. An absent one is no problem.
  std::vector<std::string_view> list(std::string_view key, size_t most, const std::string& what);

  void require(std::string_view key);
  void problem(std::string_view key, std::string detail);
  void finish();

 private:
  const std::string_view* find(std::string_view key);
  std::optional<uint64_t> whole(std::string_view key, uint64_t min, uint64_t max);

  std::string pointer_;
  Problems* problems_;
  std::vector<std::pair<std::string, std::string_view>> members_;
  std::vector<std::string> known_;
};

// malformed where `text` is no JSON.
Status check_json(std::string_view text);

}  // namespace coterie

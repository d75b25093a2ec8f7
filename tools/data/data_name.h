// DataName: "kind:path?option=value&option=value", as the user names a data set.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

class DataName {
 public:
  // The path ends at the first question mark. Errors: invalid_argument (an option without a value, or twice).
  static Result<DataName> parse(std::string_view text);

  const std::string& kind() const { return kind_; }
  const std::string& path() const { return path_; }  // empty without a colon

  // Those that nobody took yet, in the order of their names.
  const std::map<std::string, std::string>& options() const { return options_; }

  // The option's value, once: what nobody took is unknown.
  std::optional<std::string> take(const std::string& option);
  // A whole number in [min, max]; `otherwise` if the option is not given.
  Result<uint32_t> take_number(const std::string& option, uint32_t otherwise, uint32_t min, uint32_t max);
  // Whether an option of two values has the second; the first is the default.
  Result<bool> take_second(const std::string& option, const std::string& first, const std::string& second);
  // `known`: the options there are, for the error (invalid_argument) about one that is left.
  Status check_all_taken(std::string_view known) const;

 private:
  std::string kind_, path_;
  std::map<std::string, std::string> options_;
};

// "a,b" as its words, of which some may be empty.
std::vector<std::string> words_between_commas(const std::string& list);

}  // namespace coterie

#include "tools/data/csv_options.h"

#include <string>
#include <vector>

namespace coterie {
namespace {

// "a,b" as its words; none where it is not given.
std::vector<std::string> words_of(const std::optional<std::string>& list) {
  return list ? words_between_commas(*list) : std::vector<std::string>();
}

// A word a target.
Result<std::vector<bool>> targets_are_numbers(DataName& name) {
  std::vector<bool> are_numbers;
  for (const std::string& as : words_of(name.take("as"))) {
    if (as != "class" && as != "number") {
      return Error(ErrorCode::invalid_argument, name.kind() + ": as must be class or number, is \"" + as + "\"");
    }
    are_numbers.push_back(as == "number");
  }
  return are_numbers;
}

}  // namespace

Result<std::optional<bool>> target_is_number(DataName& name) {
  COT_ASSIGN(const std::vector<bool> are_numbers, targets_are_numbers(name));
  if (are_numbers.empty()) return std::optional<bool>();
  if (are_numbers.size() == 1) return std::optional<bool>(are_numbers[0]);
  return Error(ErrorCode::invalid_argument, name.kind() + ": as is one word, for all that a row is to be told by");
}

Result<CsvOptions> csv_options(DataName& name) {
  const std::optional<std::string> target = name.take("target");
  if (!target) return Error(ErrorCode::invalid_argument, "csv: say which column is the target: csv:FILE?target=COLUMN");
  CsvOptions options{.target = *target};
  COT_ASSIGN(options.targets_are_numbers, targets_are_numbers(name));
  if (options.targets_are_numbers.size() == 1) {  // whatever the target, or targets
    options.target_is_number = options.targets_are_numbers[0];
    options.targets_are_numbers.clear();
  }
  COT_ASSIGN(const bool is_raw, name.take_second("numbers", "standardised", "raw"));
  COT_ASSIGN(const bool is_coded, name.take_second("categories", "onehot", "codes"));
  COT_ASSIGN(options.refuses_missing, name.take_second("missing", "mean", "refuse"));
  options.dropped = words_of(name.take("drop"));
  options.categories = words_of(name.take("category"));
  options.texts = words_of(name.take("text"));
  COT_ASSIGN(options.text_bytes, name.take_number("length", options.text_bytes, 1, kTextBytesMax));
  COT_TRY(name.check_all_taken("target, as, numbers, categories, missing, drop, category, text, length and contract"));
  options.standardise = !is_raw;
  options.one_hot = !is_coded;
  return options;
}

}  // namespace coterie

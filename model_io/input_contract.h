// InputContract: how examples of a source become numbers, decided once. Whoever has it reads later data, and other
// devices' data, into the same inputs and the same classes.
//
// It stands beside the shards as contract.json (schema coterie.input_contract.v1). It holds means, deviations, ranges,
// and category names of the data it was fitted on; it holds no example.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proto/messages/dataset.h"

namespace coterie {

inline constexpr uint32_t kTextBytesMax = 64;
inline constexpr uint64_t kContractBytesMax = 64 << 20;  // of its file

// A column of a table, or a number of each row of an array.
//   number     (value - mean) / deviation, or the value itself where the contract does not standardise. A constant
//              column (deviation 0) is 0 whatever comes. A missing value is the mean. Where values were missing at the
//              fit, one more number says 1 for missing and 0 otherwise.
//   category   as many numbers as it has values, all 0 but one; all 0 for a value that the fit did not see. Or, without
//              one-hot, the value's place, and an error for a value that the fit did not see.
//   text       its bytes as numbers, and 0 behind the last (proto/messages/hitter_lanes.h). Longer ones are cut.
struct ContractColumn {
  std::string name;
  bool is_category = false;
  double mean = 0;
  double deviation = 0;             // of the population (divisor n); 0: constant
  double low = 0, high = 0;         // seen at the fit
  uint64_t missing = 0;             // at the fit
  std::vector<std::string> values;  // of a category: those seen at the fit, in the order of comes_before
  uint32_t text_bytes = 0;          // of a text, kTextBytesMax at most; 0: it is none

  size_t width(bool one_hot) const;  // of numbers that it becomes
  friend bool operator==(const ContractColumn&, const ContractColumn&) = default;
};

// What is to be told from the others. Classes are counted from 0 in the order of `classes`.
struct ContractTarget {
  std::string column;  // of a table; otherwise empty
  bool is_number = false;
  std::vector<std::string> classes;
  double mean = 0, deviation = 0, low = 0, high = 0;  // of a number, which stands in the data as it is,
  bool is_standardised = false;                       // or as target_scale.h says
  uint64_t cells = 1;                                 // an example has so many, of an array; contracts of before: any
  friend bool operator==(const ContractTarget&, const ContractTarget&) = default;
};

struct InputContract {
  std::string kind;  // "table", "array", "images" or "examples"
  std::string name;  // of the data
  bool standardise = true;
  bool one_hot = true;
  bool refuses_missing = false;         // of numbers
  std::vector<ContractColumn> columns;  // in the order of the inputs; empty where there are none
  std::vector<DatasetColumn> inputs;
  ContractTarget target;                // unused where there are several
  std::vector<ContractTarget> targets;  // contract_targets.h: empty, or at least two
  friend bool operator==(const InputContract&, const InputContract&) = default;
};

// The text ends with a newline; the same contract gives the same bytes.
std::string to_json_text(const InputContract& contract);
// Errors: malformed, with what was expected where; unsupported_version (another schema).
Result<InputContract> parse_contract(std::string_view json);
// Errors name the file.
Result<InputContract> read_contract(const std::string& path);

// Mean, deviation and range of `values` at `rows`; NaN is a missing value.
ContractColumn fit_numbers(std::string name, std::span<const double> values, std::span<const uint32_t> rows);

// Adds what `value` (NaN: missing) becomes: one number, or two where values were missing at the fit.
void add_standard(const ContractColumn& column, bool standardise, double value, std::vector<float>& numbers);

// The inputs that the columns become: "features", or "numbers" and "categories".
std::vector<DatasetColumn> inputs_of(const InputContract& contract);

}  // namespace coterie

// Tables with a header row as examples: numbers and categories in, a class or a number out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model_io/input_contract.h"
#include "tools/data/csv_rows.h"
#include "tools/data/example_table.h"

namespace coterie {

struct CsvOptions {
  std::string target;                         // the column to be told from the others; A,B: several (csv_targets.h)
  std::optional<bool> target_is_number = {};  // a float32 target, as it stands there, or a class; unless said, as below
  std::vector<bool> targets_are_numbers = {};  // of several, each of them
  bool standardise = true;                     // numbers get mean 0 and deviation 1
  bool one_hot = true;                         // a category becomes as many numbers as it has values, all 0 but one
  bool refuses_missing = false;                // of numbers: an error, instead of the mean
  std::vector<std::string> dropped = {};       // columns that are no input
  std::vector<std::string> categories = {};    // columns whose numbers are names
  std::vector<std::string> texts = {};         // columns whose fields are bytes, as the contract says of a text
  uint32_t text_bytes = 16;                    // of each of them, 1 to kTextBytesMax
};

inline constexpr size_t kClassesGuessedMax = 20;

// Reads the target of every row. Unless the options say it, a target whose every field is a number is a number if one
// of them is not whole, or if more than kClassesGuessedMax differ; any other is a class. Classes are all different
// texts of the column. Errors name line and column: malformed (no value; not a number), invalid_argument (no such
// column, no column but the target).
Result<ContractTarget> csv_target(const CsvRows& rows, const CsvOptions& options);

// The target of each row: its class, or its number. Errors name line and column: malformed (no value, not a number, a
// class that the contract does not have).
Result<std::vector<int32_t>> csv_labels(const CsvRows& rows, const ContractTarget& target);
Result<std::vector<float>> csv_numbers(const CsvRows& rows, const ContractTarget& target);

// Fits scales and categories on the rows `fitted`. A column is a number if every field of it in the file is a number or
// says that it is missing (is_missing), any other is a category. Errors name line and column: malformed (a missing
// number that is refused; a category with more than 1000 different texts), invalid_argument (no such column).
// There is at least one target.
Result<InputContract> fit_csv(const CsvRows& rows, const CsvOptions& options, std::vector<ContractTarget> targets,
                              std::span<const uint32_t> fitted);

// All rows by this contract. Columns of the file that it does not name are passed over. Each sentence of `notes` says
// of a column how many fields were missing, or have a value that the fit did not see. Errors name line and column:
// malformed (not a number, a missing number that is refused, an unseen category without one-hot, what csv_labels
// says), invalid_argument (a column that the file does not have).
Result<ExampleTable> encode_csv(const CsvRows& rows, const InputContract& contract, std::vector<std::string>& notes);

// Fitted on all rows of `text` and encoded.
Result<ExampleTable> csv_table(std::string_view text, const std::string& name, const CsvOptions& options);

}  // namespace coterie

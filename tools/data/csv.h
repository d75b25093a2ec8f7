// Tables with a header row as examples: numbers and categories in, a class or a number out.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/data/example_table.h"

namespace coterie {

struct CsvOptions {
  std::string target;             // the column to be told from the others
  bool target_is_number = false;  // a float32 target, as it stands there; otherwise every different text is a class
  bool standardise = true;        // numbers get mean 0 and deviation 1 over the file; a constant column becomes 0
  bool one_hot = true;            // a category becomes as many numbers as it has values, all 0 but one
};

// A column whose every field is a number is one; any other is a category, whose values are its different texts in order
// (numbers by size, texts by bytes), "" among them.
//   one_hot     one input "features", float32 [n]: the columns in the file's order
//   otherwise   an input "numbers", float32 [n], and an input "categories", int32 [m], of each the number of its value;
//               one of them alone if there is nothing for the other
// Errors name line and column: malformed (what parse_csv says; no rows; an empty field among numbers; a column with
// more than 1000 different texts), invalid_argument (no such target, nothing but the target).
Result<ExampleTable> csv_table(std::string_view text, const std::string& name, const CsvOptions& options);

}  // namespace coterie

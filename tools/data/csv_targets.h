// Several columns of a table as its targets.
#pragma once

#include <vector>

#include "base/result.h"
#include "model_io/input_contract.h"
#include "tools/data/csv.h"

namespace coterie {

// Each of the columns that options.target names, as csv_target() reads one of them: the one, where a column is called
// so with its commas, otherwise those between the commas. Errors: those of csv_target; invalid_argument (a column that
// is named twice, more than kContractTargetsMax, another number of options.targets_are_numbers).
Result<std::vector<ContractTarget>> csv_targets(const CsvRows& rows, const CsvOptions& options);

// Adds the target of `contract`, or the cells of several, to `table`, which has its inputs. Errors: those of
// csv_labels and csv_numbers.
Status add_csv_targets(const CsvRows& rows, const InputContract& contract, ExampleTable& table);

}  // namespace coterie

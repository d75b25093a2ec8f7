// What the name of a data set says of a table and of its targets (load.h).
#pragma once

#include <optional>

#include "base/result.h"
#include "tools/data/csv.h"
#include "tools/data/data_name.h"

namespace coterie {

// Takes `as`, where it is one word: whether the target is a number; nothing unless it is given. invalid_argument.
Result<std::optional<bool>> target_is_number(DataName& name);

// Takes all options of csv: but contract. invalid_argument names the option, or one that is none.
Result<CsvOptions> csv_options(DataName& name);

}  // namespace coterie

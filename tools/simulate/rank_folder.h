// Where a rank works: rank 0 in the run folder that people see, each other one in a folder of its own, which goes
// when it ends.
#pragma once

#include "base/result.h"
#include "tools/demo/options.h"
#include "tools/demo/run_folder.h"
#include "tools/simulate/ranks.h"

namespace coterie {

// Errors: those of the folder of a rank above 0, and of RunFolder.
Result<RunFolder> folder_of(const DemoOptions& demo, const Ranks& ranks);

// Nothing of it stays.
void leave_nothing(RunFolder& folder, const Ranks& ranks);

}  // namespace coterie

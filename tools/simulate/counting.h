// `coterie simulate` of a job with analytics: virtual devices count, in rounds, and train nothing. No server runs.
//
// Who is drawn, what a round asks, what a device counts of its examples and what the counts say are what ships:
// virtual_round.h, scheduler/job/round_question.h, device_sdk/agent/count_examples.h, fl_server/json/analytics_json.h.
#pragma once

#include <cstdio>

#include "tools/cli/exit_code.h"

namespace coterie {

class ProgressLine;
struct JobSettings;
struct SimulateOptions;

// The whole command, of a job with analytics that `options.job_file` names; the report goes to `human`. It prints its
// errors: options that a training has, examples of another size than the job says or a column at another place
// (usage); too few devices for a round in all of its attempts (timeout).
ExitCode run_counting(const SimulateOptions& options, const JobSettings& job, ProgressLine& progress, std::FILE* human);

}  // namespace coterie

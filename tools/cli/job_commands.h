// coterie job ...: an operator's view of jobs and their rounds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/cli/admin_command.h"

namespace coterie {

// A job's file as JSON. Errors name it: invalid_argument (no JSON, a key twice, no object), and those of reading it.
Result<nlohmann::json> read_job_document(const std::string& path);

struct JobFiles {
  std::string job;         // JSON, as POST /admin/v1/jobs takes it
  std::string model;       // uploaded first; fills "model", or, where models are evaluated, that of "analytics"
  std::string before;      // likewise "before" of these
  std::string evaluation;  // likewise "evaluation"
  std::string strategy;    // replaces strategy.kind; empty: as the file says
};

ExitCode create_job(const AdminCommand& command, const JobFiles& files);
struct JobListOptions {
  std::string state;       // running, paused, completed, cancelled, failed; empty: any
  std::string population;  // empty: any
};
ExitCode list_jobs(const AdminCommand& command, const JobListOptions& options);
ExitCode show_job(const AdminCommand& command, const std::string& job);
// What a job with analytics has counted; `svg`: a file for its bars, empty: none.
ExitCode show_result(const AdminCommand& command, const std::string& job, const std::string& svg);
ExitCode list_rounds(const AdminCommand& command, const std::string& job, uint32_t limit);
// A round's trace into a file for Perfetto; `round` 0: the newest that the server keeps.
ExitCode save_round_trace(const AdminCommand& command, const std::string& job, uint64_t round, const std::string& file);
ExitCode delete_job(const AdminCommand& command, const std::string& job);
// `verb`: pause, resume or cancel.
ExitCode change_job(const AdminCommand& command, const std::string& job, const std::string& verb);
// Follows the rounds until the job is over: ok if it was completed.
ExitCode watch_job(const AdminCommand& command, const std::string& job);

}  // namespace coterie

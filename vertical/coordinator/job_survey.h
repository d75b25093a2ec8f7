// JobSurvey: what an operator hears of a coordinator's jobs: who takes part, how far they are, what they learn of each
// other by row, and sizes and times. Nothing of it is a person's, a column's or a value.
//
// An operator has a certificate of a name in the coordinator's `operators`. It looks, pauses, resumes and cancels; it
// approves nothing, as an approval is a party's signature.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "vertical/coordinator/coordinator_wire.h"

namespace coterie::vertical {

struct SurveyedJob {
  JobView view;
  std::string kind;                  // "vertical_trees"; empty: an earlier version stored it
  std::vector<std::string> leakage;  // ids of leakage rows
  PartyIndex submitted_by = 0;
  WallTime changed;  // when the state did
  bool is_paused_by_operator = false;
  std::vector<StageRecords> stages = std::vector<StageRecords>(kJobPartiesMin);  // of each party
  friend bool operator==(const SurveyedJob&, const SurveyedJob&) = default;
};
SurveyedJob surveyed(const JobRecord& record);

// Jobs in the order of their ids.
struct JobSurvey {
  std::vector<SurveyedJob> jobs;
  bool has_more = false;  // behind the last one
};

// As many of them, from the first on, as an answer holds: at least one, and at most kSurveyBytesMax. `has_more` if that
// is not all.
Bytes write_survey(std::span<const JobRecord* const> records);
// The refusal's error, or malformed.
Result<JobSurvey> read_survey(std::span<const uint8_t, kCoordinatorHeaderBytes> header, ByteView payload);

}  // namespace coterie::vertical

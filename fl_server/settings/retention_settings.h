// What is kept, and for how long (docs/operating/retention.md). What is named here is kept at least; what a rule of
// fl_server/retention/retention_plan.h protects besides, is kept, too.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace coterie {

struct RetentionSettings {
  uint32_t models_kept = 20;               // the newest versions of each job's model; at least 1
  uint32_t models_kept_every = 0;          // and each version that this divides; 0: no further ones
  Millis superseded_min{3'600'000};        // a version stays so long after the next one was made
  Millis accepted_kept{86'400'000};        // who is counted in an attempt, after its end
  uint32_t rounds_kept = 1'000;            // the newest rounds of each job; at least 1
  Millis rounds_kept_min{86'400'000};      // and each attempt so long after its end; at least accepted_kept
  Millis uploads_kept{604'800'000};        // models and data sets that no job names, after they were put last
  uint32_t devices_days = 365;             // devices that were not seen for so many days; 0: for ever
  Millis audit_kept{7'776'000'000};        // records of the audit log as rows; after that in files
  uint32_t audit_segment_records = 2'000;  // of a file; in [10, 10000]
  Millis audit_segments_kept{0};           // the files, after they were sealed; 0: for ever; else at least audit_kept
  Millis look_every{60'000};               // how often somebody looks for what may go
};

}  // namespace coterie

// RoundView: what the nodes that talk to devices must know of a round. Published by the round machine at every change.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "proto/messages/plan.h"
#include "scheduler/job/records.h"

namespace coterie {

struct RoundView {
  JobId job;
  Population population;
  RoundKey key;
  uint64_t number = 0;
  RoundState state = RoundState::selecting;

  ModelVersion model_version;
  Digest model;
  uint64_t model_bytes = 0;
  Digest plan;  // the job's
  uint32_t plan_bytes = 0;
  LedgerHead ledger = {};  // to go into this attempt's plan; no records: the job's plan is the attempt's
  UpdateRules update;
  PrivacyRules privacy;
  uint32_t cohort_count = 1;   // with secure aggregation
  uint32_t adverts_goal = 0;   // devices that close the rosters of all cohorts
  Millis cohort_phase_max{0};  // how long each phase of a session waits for devices

  uint32_t weight = 1;        // of the job, where several want the same devices
  uint32_t ticket_count = 0;  // tickets to issue while collecting
  uint32_t goal_count = 0;    // accepted updates that close the round
  Instant deadline;           // selecting: of the choice; collecting: of the updates
};

}  // namespace coterie

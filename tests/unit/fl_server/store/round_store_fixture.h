// What the round store's tests share: records to put into it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie::test {

inline WallTime wall(int64_t ms) { return wall_time_from_unix_ms(1'750'000'000'000 + ms); }

inline Digest filled_digest(uint8_t value) {
  Digest digest;
  digest.bytes.fill(value);
  return digest;
}

inline DeviceId numbered_device(uint64_t index) {
  DeviceId id;
  id.bytes[0] = static_cast<uint8_t>(index * 37);
  id.bytes[15] = static_cast<uint8_t>(index);
  return id;
}

inline JobRecord job_record(const std::string& id, int64_t created = 0) {
  JobRecord job;
  job.id = JobId(id);
  job.spec.common.name = "job " + id;
  job.spec.horizontal().model = filled_digest(0x11);
  job.spec.horizontal().rounds.count = 3;
  job.spec.horizontal().privacy.level = SecurityLevel::none;
  job.plan = filled_digest(0x22);
  job.plan_bytes = 312;
  job.value_count = 1'000;
  job.created = wall(created);
  return job;
}

// With noise; its budget takes some releases.
inline JobRecord noisy_job_record(const std::string& id, int64_t created = 0) {
  JobRecord job = job_record(id, created);
  job.spec.horizontal().update.clip_l2 = 1;
  job.spec.horizontal().update.weight_max = 1;
  job.spec.horizontal().privacy = {SecurityLevel::none, 2, 1e-6, 5};
  return job;
}

inline ModelRecord model_record(const std::string& job, uint64_t version) {
  ModelRecord model;
  model.job = JobId(job);
  model.version = ModelVersion(version);
  model.digest = filled_digest(static_cast<uint8_t>(0x40 + version));
  model.bytes = 4'096 + version;
  model.created = wall(static_cast<int64_t>(version));
  return model;
}

inline PartialRecord partial_record(const std::string& id, const RoundKey& key, uint64_t updates) {
  return {.id = id,
          .key = key,
          .totals = {.updates = updates,
                     .weight = 10 * updates,
                     .examples = 100 * updates,
                     .loss_sum = 0.5 * static_cast<double>(updates),
                     .correct = updates,
                     .train_ms = 7},
          .blob = filled_digest(static_cast<uint8_t>(id.back()))};
}

inline std::vector<AcceptRow> rows_of(const std::vector<uint64_t>& devices) {
  std::vector<AcceptRow> rows;
  for (uint64_t device : devices) rows.push_back({numbered_device(device)});
  return rows;
}

}  // namespace coterie::test

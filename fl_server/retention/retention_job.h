// RetentionJob: carries out what retention_plan.h decides, a small transaction at a time, so that nobody waits long.
//
// Safe wherever the process dies: a row goes before its blob, so that no row is without its blob; a blob that is left
// goes as one that nobody names. On a shared store each transaction is fenced by the lease: whoever has lost the lead
// removes no row. Blobs need no fence: what others put since the rows were read is younger than the store's clock then,
// and stays.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <variant>
#include <vector>

#include "base/result.h"
#include "fl_server/retention/named_blobs.h"
#include "fl_server/retention/retention_plan.h"
#include "fl_server/settings/retention_settings.h"
#include "fl_server/store/admin_store.h"
#include "fl_server/store/blob_store.h"
#include "fl_server/store/device_store.h"
#include "fl_server/store/job_store.h"
#include "fl_server/store/model_store.h"
#include "fl_server/store/retention_store.h"
#include "fl_server/store/round_store.h"
#include "fl_server/store/unnamed_blobs.h"

namespace coterie {

// What is looked at; outlives the job.
struct RetentionParts {
  JobStore& jobs;
  RoundStore& rounds;
  ModelStore& models;
  RetentionStore& rows;
  AdminStore& admin;
  DeviceStore& devices;
  BlobStore& blobs;
  UnnamedBlobs& unnamed;
  std::function<WallTime()> wall_now;
};

// What has gone so far.
struct RetentionCounts {
  uint64_t jobs = 0;
  uint64_t models = 0;
  uint64_t accepted = 0;
  uint64_t rounds = 0;
  uint64_t keys = 0;
  uint64_t devices = 0;
  uint64_t audit = 0;  // records, which are in files
  uint64_t blobs = 0;
  friend bool operator==(const RetentionCounts&, const RetentionCounts&) = default;
};

class RetentionJob {
 public:
  // `rows_max`: of one transaction.
  RetentionJob(RetentionSettings settings, RetentionParts parts, size_t rows_max = 500);

  // One step of a pass over everything: a transaction, or some blobs. False: the pass is over, and the next step begins
  // another. After an error the pass is over, too.
  Result<bool> step();
  const RetentionCounts& counts() const { return counts_; }
  // More blobs are to go than another step removes, or the pass before left rows: they may come faster than they go.
  bool is_behind() const { return is_behind_; }
  // The pass left rows that may go, so that all kinds have their turn: the next one is due at once.
  bool is_unfinished() const { return is_unfinished_; }

 private:
  // clang-format off
  struct ForgetJob { JobId job; };
  struct ForgetModels { JobId job; std::optional<ModelVersion> kept_from, seen; };
  struct ForgetRounds { JobId job; };
  struct ForgetAccepted { RoundKey seen; };
  struct ForgetKeys {};
  struct ForgetDevices {};
  struct SealAudit {};
  struct ForgetAudit {};
  struct DropAuditSegments {};
  struct FindUnnamed { std::vector<Digest> old; std::optional<NameSearch> search; };
  struct FindLostUploads {};
  // clang-format on
  // A blob that goes if no row names it and it was not put again.
  struct Going {
    UnnamedBlob blob;
    WallTime put_before;    // by the blob store's clock
    WallTime noted_before;  // by ours
    bool may_wait;          // what stays may be young, or stay for a round that is being finalized
  };
  struct RemoveUnnamed {
    std::vector<UnnamedBlob> unnamed = {};  // that this pass has still to look at
    std::vector<Going> going = {};
    std::optional<NameSearch> search = {};  // for the names of `going`; over: nobody names them
    std::vector<UnnamedBlob> waiting = {};
  };
  using Task = std::variant<ForgetJob, ForgetModels, ForgetRounds, ForgetAccepted, ForgetKeys, ForgetDevices, SealAudit,
                            ForgetAudit, DropAuditSegments, RemoveUnnamed, FindUnnamed, FindLostUploads>;

  static bool may_not_end(const Task& task);
  Status plan_pass();
  Status begin_versions(ForgetModels& task);
  Status forget_computed(const JobId& job);
  Status begin_search(RemoveUnnamed& task);
  Status remove_some(RemoveUnnamed& task);
  void put_back(const RemoveUnnamed& task);
  // True: there is more of the same.
  Result<bool> run(const ForgetJob& task);
  Result<bool> run(ForgetModels& task);
  Result<bool> run(const ForgetRounds& task);
  Result<bool> run(ForgetAccepted& task);
  Result<bool> run(const ForgetKeys& task);
  Result<bool> run(const ForgetDevices& task);
  Result<bool> run(const SealAudit& task);
  Result<bool> run(const ForgetAudit& task);
  Result<bool> run(const DropAuditSegments& task);
  Result<bool> run(RemoveUnnamed& task);
  Result<bool> run(FindUnnamed& task);
  Result<bool> run(const FindLostUploads& task);

  const RetentionSettings settings_;
  const RetentionParts parts_;
  const size_t rows_max_;
  std::deque<Task> tasks_;
  uint32_t steps_of_task_ = 0;  // of the first, in this pass
  bool is_unfinished_ = false;
  bool is_behind_ = false;
  Digest upload_seen_;  // the last that was looked for
  RetentionCounts counts_;
};

}  // namespace coterie

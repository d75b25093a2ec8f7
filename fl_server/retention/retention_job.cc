#include "fl_server/retention/retention_job.h"

#include <algorithm>
#include <utility>

#include "base/os/crash_point.h"

namespace coterie {
namespace {

constexpr size_t kBlobsAStep = 50;
// One search for names, which reads all versions, is for so many: the more, the less often.
constexpr size_t kBlobsASearch = 10'000;
// One kind of rows has so many steps in a pass: rows that come as fast as they go keep nothing else from its turn.
constexpr uint32_t kStepsATask = 100;

}  // namespace

RetentionJob::RetentionJob(RetentionSettings settings, RetentionParts parts, size_t rows_max)
    : settings_(settings), parts_(std::move(parts)), rows_max_(rows_max) {}

Result<bool> RetentionJob::step() {
  if (tasks_.empty()) COT_TRY(plan_pass());
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  Result<bool> more = std::visit([this](auto& one) { return run(one); }, task);
  if (!more) {
    tasks_.clear();
    if (auto* const removal = std::get_if<RemoveUnnamed>(&task)) put_back(*removal);
    is_behind_ = false;  // nobody knows: the next pass begins as slowly as any
    return more.error();
  }
  if (*more && ++steps_of_task_ >= kStepsATask && may_not_end(task)) {
    *more = false;
    is_unfinished_ = true;
  }
  if (*more) tasks_.push_front(std::move(task));
  else steps_of_task_ = 0;
  return !tasks_.empty();
}

// Others go over what there was when they began.
bool RetentionJob::may_not_end(const Task& task) {
  return std::holds_alternative<ForgetAccepted>(task) || std::holds_alternative<ForgetRounds>(task) ||
         std::holds_alternative<ForgetDevices>(task) || std::holds_alternative<SealAudit>(task) ||
         std::holds_alternative<ForgetAudit>(task);
}

// Accept rows before rounds, which have to be without them; rows before blobs.
Status RetentionJob::plan_pass() {
  is_behind_ = is_unfinished_;  // rows come faster than they went in the last one
  is_unfinished_ = false;
  steps_of_task_ = 0;
  COT_ASSIGN(const std::vector<JobId> deleted, parts_.rows.list_deleted_jobs());
  for (const JobId& job : deleted) tasks_.emplace_back(ForgetJob{job});
  COT_ASSIGN(const std::vector<JobRecord> jobs, parts_.jobs.list_jobs());
  tasks_.emplace_back(ForgetAccepted{{}});
  for (const JobRecord& job : jobs) {
    tasks_.emplace_back(ForgetModels{job.id, {}, {}});
    tasks_.emplace_back(ForgetRounds{job.id});
  }
  tasks_.emplace_back(ForgetKeys{});
  if (settings_.devices_days != 0) tasks_.emplace_back(ForgetDevices{});
  tasks_.emplace_back(SealAudit{});
  tasks_.emplace_back(ForgetAudit{});
  if (settings_.audit_segments_kept != Millis(0)) tasks_.emplace_back(DropAuditSegments{});
  tasks_.emplace_back(FindUnnamed{});
  tasks_.emplace_back(RemoveUnnamed{});
  tasks_.emplace_back(FindLostUploads{});
  return {};
}

// Whoever deleted it was told so long ago: an error is told by the next pass, which begins with it again.
Result<bool> RetentionJob::run(const ForgetJob& task) {
  const Result<ForgottenJob> step = parts_.rows.forget_job(task.job, rows_max_);
  if (!step && step.error().code() == ErrorCode::not_found) return false;
  COT_TRY(step);
  for (const ModelRecord& model : step->models) parts_.unnamed.add(model);
  counts_.models += step->models.size();
  if (!step->is_gone) return true;
  parts_.unnamed.add(step->plan);
  ++counts_.jobs;
  return false;
}

// The computed models of all versions but the newest in one transaction, where the newest ones still have theirs.
Status RetentionJob::begin_versions(ForgetModels& task) {
  const size_t kept = std::max<size_t>(settings_.models_kept, 1);
  COT_ASSIGN(std::vector<ModelRecord> newest,
             parts_.models.list_models(task.job, {.limit = std::max<size_t>(kept, 2), .newest_first = true}));
  const auto has_computed = [&](const ModelRecord& model) { return model.exact && &model != &newest.front(); };
  if (std::ranges::any_of(newest, has_computed)) COT_TRY(forget_computed(task.job));
  if (newest.size() > kept) newest.resize(kept);
  task.kept_from = first_version_kept(newest);
  return {};
}

Status RetentionJob::forget_computed(const JobId& job) {
  COT_ASSIGN(const std::vector<UnnamedBlob> computed, parts_.rows.forget_exact_models(job));
  for (const UnnamedBlob& blob : computed) parts_.unnamed.add(blob);
  return {};
}

// A page of versions. Versions that are made meanwhile are newer than those that stay, and a removal looks at releases
// again in its transaction.
Result<bool> RetentionJob::run(ForgetModels& task) {
  ModelHistory history;
  if (!task.kept_from) COT_TRY(begin_versions(task));
  history.kept_from = *task.kept_from;
  // The base of an attempt that begins from here on is the newest version, which stays whatever is said.
  Result<JobProgress> progress = parts_.rounds.load_progress(task.job);
  if (!progress && progress.error().code() == ErrorCode::not_found) return false;  // deleted meanwhile
  COT_TRY(progress);
  if (progress->latest && progress->latest->state < RoundState::done) history.base = progress->latest->base;
  // One more, which says when the last of them was superseded; the next page begins with it.
  COT_ASSIGN(history.models, parts_.models.list_models(task.job, {.after = task.seen, .limit = rows_max_ + 1}));
  // Behind a keyframe, or in what a server of before left.
  const auto has_computed = [&](const ModelRecord& model) { return model.exact && model.version < *task.kept_from; };
  if (std::ranges::any_of(history.models, has_computed)) COT_TRY(forget_computed(task.job));
  COT_ASSIGN(history.released, parts_.rows.list_releases(task.job));
  const std::vector<ModelVersion> going = versions_to_forget(history, settings_, parts_.wall_now());
  if (!going.empty()) {
    COT_ASSIGN(const std::vector<ModelRecord> gone, parts_.rows.forget_models(task.job, going));
    for (const ModelRecord& model : gone) parts_.unnamed.add(model);
    counts_.models += gone.size();
  }
  if (history.models.size() <= rows_max_) return false;
  task.seen = history.models[rows_max_ - 1].version;
  return *task.seen < *task.kept_from;
}

Result<bool> RetentionJob::run(ForgetAccepted& task) {
  COT_ASSIGN(const ForgottenAccepted gone,
             parts_.rows.forget_accepted(parts_.wall_now() - settings_.accepted_kept, rows_max_, task.seen));
  counts_.accepted += gone.rows;
  task.seen = gone.seen;
  return gone.rows == rows_max_;
}

Result<bool> RetentionJob::run(const ForgetRounds& task) {
  const Result<std::vector<RoundRecord>> newest = parts_.rounds.list_rounds(task.job, {.limit = 1});
  COT_TRY(newest);
  if (newest->empty()) return false;
  const uint64_t first_kept = first_round_kept(newest->front().number, settings_);
  COT_ASSIGN(const uint64_t gone,
             parts_.rows.forget_rounds(task.job, first_kept, parts_.wall_now() - settings_.rounds_kept_min, rows_max_));
  counts_.rounds += gone;
  return gone == rows_max_;
}

Result<bool> RetentionJob::run(const ForgetKeys&) {
  COT_ASSIGN(const uint64_t gone, parts_.admin.forget_keys(parts_.wall_now()));
  counts_.keys += gone;
  return false;
}

Result<bool> RetentionJob::run(const ForgetDevices&) {
  COT_ASSIGN(const uint64_t gone, parts_.devices.forget_devices(settings_.devices_days, parts_.wall_now(), rows_max_));
  counts_.devices += gone;
  return gone == rows_max_;
}

// The file before its seal, as a row names what is there. The same records are the same file, whoever writes it.
Result<bool> RetentionJob::run(const SealAudit&) {
  COT_ASSIGN(const std::vector<AuditSegment> segments, parts_.admin.list_audit_segments());
  const AuditHead before = segments.empty() ? AuditHead{} : segments.back().head;
  const size_t count = settings_.audit_segment_records;
  COT_ASSIGN(std::vector<AuditRecord> records, parts_.admin.list_audit({.after = before.seq, .limit = count + 1}));
  if (records.size() <= count) return false;
  records.pop_back();  // there is one behind the segment, which stays
  const WallTime now = parts_.wall_now();
  if (now - records.back().entry.time < settings_.audit_kept) return false;
  COT_ASSIGN(const Bytes file, encode_audit_segment(before, records));
  COT_ASSIGN(const Digest blob, parts_.blobs.put(file));
  COT_TRY(parts_.admin.seal_audit({.before = before,
                                   .head = {records.back().entry.seq, records.back().digest},
                                   .blob = blob,
                                   .bytes = file.size(),
                                   .sealed = now}));
  return true;
}

Result<bool> RetentionJob::run(const ForgetAudit&) {
  COT_ASSIGN(const uint64_t gone, parts_.admin.forget_audit(rows_max_));
  counts_.audit += gone;
  return gone == rows_max_;
}

Result<bool> RetentionJob::run(const DropAuditSegments&) {
  COT_ASSIGN(const std::vector<AuditSegment> dropped,
             parts_.admin.drop_audit_segments(parts_.wall_now() - settings_.audit_segments_kept));
  for (const AuditSegment& segment : dropped) parts_.unnamed.add(UnnamedBlob{*segment.blob, segment.sealed});
  return false;
}

// Uploads that no job names, and what a process that died had put or was about to remove.
Result<bool> RetentionJob::run(FindUnnamed& task) {
  if (!task.search) {
    COT_ASSIGN(task.old, parts_.blobs.list(settings_.uploads_kept));
    if (task.old.empty()) return false;
    task.search.emplace(task.old);
  }
  COT_ASSIGN(const bool more, task.search->step(parts_.jobs, parts_.rows, parts_.admin));
  if (more) return true;
  for (const Digest& digest : task.old) {
    if (!task.search->is_named(digest)) parts_.unnamed.add(UnnamedBlob{digest});
  }
  return false;
}

// What a tenant is charged for and the store does not have: its upload failed, or a process died between the removal of
// the blob and that of its note. A few in each pass, as each may be a request to S3.
Result<bool> RetentionJob::run(const FindLostUploads&) {
  COT_ASSIGN(const std::vector<Digest> uploads, parts_.admin.list_uploads(upload_seen_, kBlobsAStep));
  for (const Digest& digest : uploads) {
    const WallTime now = parts_.wall_now();
    const auto blob = parts_.blobs.open(digest);
    if (blob) continue;
    if (blob.error().code() != ErrorCode::not_found) return blob.error();
    COT_TRY(parts_.admin.forget_upload(digest, now - kNamingMax));
  }
  upload_seen_ = uploads.size() < kBlobsAStep ? Digest{} : uploads.back();
  return false;
}

// The times, then the names, then the blobs, each in steps. In this order: whatever is named by a row that is not read
// here was put after one of the times, however long ago they were read.
Result<bool> RetentionJob::run(RemoveUnnamed& task) {
  if (task.search) {
    COT_ASSIGN(const bool more, task.search->step(parts_.jobs, parts_.rows, parts_.admin));
    if (more) return true;
    std::erase_if(task.going, [&](const Going& one) { return task.search->is_named(one.blob.digest); });
    task.search.reset();
  } else if (task.going.empty()) {
    COT_TRY(begin_search(task));
  } else {
    COT_TRY(remove_some(task));
  }
  if (task.search || !task.going.empty() || !task.unnamed.empty()) return true;
  put_back(task);
  return false;
}

// For the next pass: what waits, and after an error what was not looked at.
void RetentionJob::put_back(const RemoveUnnamed& task) {
  for (const UnnamedBlob& blob : task.waiting) parts_.unnamed.add(blob);
  for (const UnnamedBlob& blob : task.unnamed) parts_.unnamed.add(blob);
  for (const Going& one : task.going) parts_.unnamed.add(one.blob);
}

Status RetentionJob::begin_search(RemoveUnnamed& task) {
  if (task.unnamed.empty()) task.unnamed = parts_.unnamed.take();
  if (task.unnamed.empty()) return {};
  os::crash_point(os::CrashPoint::retention_before_blobs);
  COT_ASSIGN(const WallTime blob_clock, parts_.blobs.now());
  const WallTime now = parts_.wall_now();
  UnderWay under_way;
  COT_ASSIGN(under_way.frozen, parts_.rows.oldest_under_way(RoundState::frozen));
  COT_ASSIGN(under_way.collecting, parts_.rows.oldest_under_way(RoundState::collecting));
  std::vector<Digest> digests;
  while (!task.unnamed.empty() && digests.size() < kBlobsASearch) {
    const UnnamedBlob blob = task.unnamed.back();
    task.unnamed.pop_back();
    const bool is_young = blob.made && now - *blob.made < kNamingMax;
    if (is_young) {  // it cannot go yet, and nobody has to look
      task.waiting.push_back(blob);
      continue;
    }
    // What was put again since it was made stays as uploads do; it is not waited for without end.
    const bool may_wait = blob.made && (under_way.frozen || now - *blob.made < 2 * kNamingMax);
    const Millis age = age_to_go(blob, under_way, settings_, now);
    digests.push_back(blob.digest);
    task.going.push_back({.blob = blob,
                          .put_before = blob_clock - age,
                          .noted_before = now - std::max(age, kNamingMax),
                          .may_wait = may_wait});
  }
  if (!digests.empty()) task.search.emplace(std::move(digests));
  return {};
}

Status RetentionJob::remove_some(RemoveUnnamed& task) {
  for (size_t i = 0; i < kBlobsAStep && !task.going.empty(); ++i) {
    const Going one = task.going.back();
    COT_ASSIGN(const bool is_gone, parts_.blobs.remove_put_before(one.blob.digest, one.put_before));
    // Not what a tenant sends again at this moment: it is noted before it is put.
    if (is_gone) COT_TRY(parts_.admin.forget_upload(one.blob.digest, one.noted_before));
    task.going.pop_back();
    counts_.blobs += is_gone ? 1 : 0;                                // what stays is found again when it is older,
    if (!is_gone && one.may_wait) task.waiting.push_back(one.blob);  // or looked at by the next pass
  }
  is_behind_ = task.going.size() + task.unnamed.size() > kBlobsAStep;
  return {};
}

}  // namespace coterie

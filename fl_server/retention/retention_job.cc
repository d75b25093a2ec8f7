#include "fl_server/retention/retention_job.h"

#include <algorithm>
#include <utility>

#include "base/os/crash_point.h"
#include "fl_server/retention/named_blobs.h"

namespace coterie {
namespace {

constexpr size_t kBlobsAStep = 50;
constexpr size_t kNamesABlob = 50;

}  // namespace

RetentionJob::RetentionJob(RetentionSettings settings, RetentionParts parts, size_t rows_max)
    : settings_(settings), parts_(std::move(parts)), rows_max_(rows_max) {}

Result<bool> RetentionJob::step() {
  if (tasks_.empty()) {
    is_behind_ = false;
    COT_TRY(plan_pass());
  }
  const Task task = tasks_.front();
  tasks_.pop_front();
  Result<bool> more = std::visit([this](const auto& one) { return run(one); }, task);
  if (!more) {
    tasks_.clear();
    is_behind_ = false;
    return more.error();
  }
  if (*more) tasks_.push_front(task);
  return !tasks_.empty();
}

// Accept rows before rounds, which have to be without them; rows before blobs.
Status RetentionJob::plan_pass() {
  COT_ASSIGN(const std::vector<JobId> deleted, parts_.rows.list_deleted_jobs());
  for (const JobId& job : deleted) tasks_.emplace_back(ForgetJob{job});
  COT_ASSIGN(const std::vector<JobRecord> jobs, parts_.jobs.list_jobs());
  tasks_.emplace_back(ForgetAccepted{});
  for (const JobRecord& job : jobs) {
    tasks_.emplace_back(ForgetModels{job.id});
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

Result<bool> RetentionJob::run(const ForgetModels& task) {
  ModelHistory history;
  // The base of an attempt that begins from here on is the newest version, which stays whatever is said.
  Result<JobProgress> progress = parts_.rounds.load_progress(task.job);
  if (!progress && progress.error().code() == ErrorCode::not_found) return false;  // deleted meanwhile
  COT_TRY(progress);
  if (progress->latest && progress->latest->state < RoundState::done) history.base = progress->latest->base;
  COT_ASSIGN(history.models, parts_.models.list_models(task.job));
  COT_ASSIGN(history.released, parts_.rows.list_releases(task.job));
  std::vector<ModelVersion> going = versions_to_forget(history, settings_, parts_.wall_now());
  const bool has_more = going.size() > rows_max_;
  if (has_more) going.resize(rows_max_);
  if (going.empty()) return false;
  COT_ASSIGN(const std::vector<ModelRecord> gone, parts_.rows.forget_models(task.job, going));
  for (const ModelRecord& model : gone) parts_.unnamed.add(model);
  counts_.models += gone.size();
  return has_more && !gone.empty();
}

Result<bool> RetentionJob::run(const ForgetAccepted&) {
  COT_ASSIGN(const uint64_t gone, parts_.rows.forget_accepted(parts_.wall_now() - settings_.accepted_kept, rows_max_));
  counts_.accepted += gone;
  return gone == rows_max_;
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
Result<bool> RetentionJob::run(const FindUnnamed&) {
  COT_ASSIGN(const std::vector<Digest> old, parts_.blobs.list(settings_.uploads_kept));
  if (old.empty()) return false;
  COT_ASSIGN(const std::set<Digest> named, list_named_blobs(parts_.jobs, parts_.rows, parts_.admin));
  for (const Digest& digest : old) {
    if (!named.contains(digest)) parts_.unnamed.add(UnnamedBlob{digest});
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

Result<bool> RetentionJob::run(const RemoveUnnamed&) {
  if (unnamed_.empty()) unnamed_ = parts_.unnamed.take();
  if (unnamed_.empty()) return false;
  os::crash_point(os::CrashPoint::retention_before_blobs);
  // In this order: whatever is named by a row that is not read here was put after one of these times.
  COT_ASSIGN(const WallTime blob_clock, parts_.blobs.now());
  const WallTime now = parts_.wall_now();
  UnderWay under_way;
  COT_ASSIGN(under_way.frozen, parts_.rows.oldest_under_way(RoundState::frozen));
  COT_ASSIGN(under_way.collecting, parts_.rows.oldest_under_way(RoundState::collecting));
  COT_ASSIGN(const std::set<Digest> named, list_named_blobs(parts_.jobs, parts_.rows, parts_.admin));
  // A look costs as much as there are names. What goes after it grows with them: a server that has many versions would
  // remove fewer than it makes.
  const size_t blobs_max = std::max(kBlobsAStep, named.size() / kNamesABlob);
  for (size_t i = 0; i < blobs_max && !unnamed_.empty(); ++i) {
    const UnnamedBlob blob = unnamed_.back();
    unnamed_.pop_back();
    const std::optional<Millis> age = age_to_go(blob, named, under_way, settings_, now);
    if (!age) continue;
    COT_ASSIGN(const bool is_gone, parts_.blobs.remove_put_before(blob.digest, blob_clock - *age));
    // Not what a tenant sends again at this moment: it is noted before it is put.
    if (is_gone) COT_TRY(parts_.admin.forget_upload(blob.digest, now - std::max(*age, kNamingMax)));
    counts_.blobs += is_gone ? 1 : 0;  // what stays is found again when it is older,
    if (!is_gone && blob.made && under_way.frozen) waiting_.push_back(blob);  // or looked at by the next pass
  }
  is_behind_ = unnamed_.size() > blobs_max;
  if (!unnamed_.empty()) return true;
  for (const UnnamedBlob& blob : std::exchange(waiting_, {})) parts_.unnamed.add(blob);
  return false;
}

}  // namespace coterie

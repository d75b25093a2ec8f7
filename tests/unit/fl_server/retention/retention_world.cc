#include "tests/unit/fl_server/retention/retention_world.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fl_server/store/sql/sqlite.h"
#include "secure/crypto/digest.h"

namespace coterie::test {
namespace {

using enum RoundState;

constexpr size_t kBlobBytes = 4'096;
constexpr Millis kAges{int64_t{365} * 86'400'000};
constexpr const char* kTables[] = {"SELECT count(*) FROM round",      "SELECT count(*) FROM round_name",
                                   "SELECT count(*) FROM accept",     "SELECT count(*) FROM partial",
                                   "SELECT count(*) FROM model",      "SELECT count(*) FROM ledger",
                                   "SELECT count(*) FROM noise_salt", "SELECT count(*) FROM idempotency",
                                   "SELECT count(*) FROM device",     "SELECT count(*) FROM audit"};

const JobId kJob("j");

ModelRecord model_of(uint64_t version, WallTime now) {
  ModelRecord model;
  model.job = kJob;
  model.version = ModelVersion(version);
  model.created = now;
  return model;
}

std::string database_of(const std::string& directory) { return directory + "/db"; }

}  // namespace

class VirtualTimeBlobs::Writer : public BlobWriter {
 public:
  Writer(std::unique_ptr<BlobWriter> file, VirtualTimeBlobs& store) : file_(std::move(file)), store_(store) {}
  Status append(ByteView bytes) override { return file_->append(bytes); }
  Result<Digest> finish() override {
    COT_ASSIGN(const Digest digest, file_->finish());
    store_.put_[digest] = store_.now_;
    return digest;
  }

 private:
  std::unique_ptr<BlobWriter> file_;
  VirtualTimeBlobs& store_;
};

Result<std::unique_ptr<BlobWriter>> VirtualTimeBlobs::create() {
  COT_ASSIGN(std::unique_ptr<BlobWriter> file, files_->create());
  return std::unique_ptr<BlobWriter>(new Writer(std::move(file), *this));
}

Status VirtualTimeBlobs::remove(const Digest& digest) {
  put_.erase(digest);
  return files_->remove(digest);
}

Result<bool> VirtualTimeBlobs::remove_put_before(const Digest& digest, WallTime put_min) {
  if (const auto put = put_.find(digest); put != put_.end() && put->second >= put_min) return false;
  COT_TRY(remove(digest));
  return true;
}

Result<std::vector<Digest>> VirtualTimeBlobs::list(Millis age_min) {
  COT_ASSIGN(std::vector<Digest> digests, files_->list(Millis(0)));
  std::erase_if(digests, [&](const Digest& digest) {
    const auto put = put_.find(digest);
    return put != put_.end() && now_ - put->second < age_min;
  });
  return digests;
}

RetentionWorld::RetentionWorld(std::string directory, RetentionSettings settings, size_t rows_max)
    : directory_(std::move(directory)) {
  store_ = *SqlTrainingStore::open(open_sqlite(database_of(directory_)));
  admin_ = *SqlAdminStore::open(open_sqlite(database_of(directory_)));
  devices_ = *SqlDeviceStore::open(open_sqlite(database_of(directory_)));
  blobs_ = std::make_unique<VirtualTimeBlobs>(*DirectoryBlobStore::open_directory(directory_ + "/blobs"), now_);
  job_ = std::make_unique<RetentionJob>(settings,
                                        RetentionParts{.jobs = *store_,
                                                       .rounds = *store_,
                                                       .models = *store_,
                                                       .rows = *store_,
                                                       .admin = *admin_,
                                                       .devices = *devices_,
                                                       .blobs = *blobs_,
                                                       .unnamed = unnamed_,
                                                       .wall_now = [this] { return now_; }},
                                        rows_max);
}

// A blob of its own for each name.
Result<Digest> RetentionWorld::put(const std::string& what) {
  Bytes bytes(kBlobBytes);
  std::copy(what.begin(), what.end(), bytes.begin());
  return blobs_->put(bytes);
}

Status RetentionWorld::create_job() {
  if (store_->get_job(kJob)) return {};
  JobRecord job;
  job.id = kJob;
  job.spec.common.name = "soak";
  job.spec.horizontal().rounds.count = 10'000'000;
  job.spec.horizontal().privacy.level = SecurityLevel::none;
  COT_ASSIGN(job.plan, put("plan"));
  ModelRecord initial = model_of(0, now_);
  COT_ASSIGN(initial.digest, put("model 0"));
  job.spec.horizontal().model = initial.digest;
  job.created = now_;
  return store_->create_job(job, initial);
}

Status RetentionWorld::delete_job() {
  COT_TRY(store_->set_job_state(kJob, JobState::cancelled, "over"));
  return store_->delete_job(kJob, {});
}

Status RetentionWorld::play_round(uint32_t devices, Millis took) {
  COT_ASSIGN(const JobProgress progress, store_->load_progress(kJob));
  const uint64_t number = progress.job.rounds_done + 1;
  const std::string name = std::to_string(number);
  COT_ASSIGN(const RoundRecord round,
             store_->open_round(kJob, {number, std::nullopt, Attempt(1), progress.head}, now_));
  const auto move = [&](RoundState from, RoundState to) -> Status {
    COT_ASSIGN(const bool won, store_->move_round({round.key, from, to, "", devices}, now_));
    return won ? Status() : Error(ErrorCode::conflict, "round " + name + " is elsewhere");
  };
  COT_TRY(move(selecting, collecting));
  PartialRecord partial{.id = "p" + name, .key = round.key, .totals = {.updates = devices}, .blob = {}};
  COT_ASSIGN(partial.blob, put("partial " + name));
  std::vector<AcceptRow> rows(devices);
  for (uint32_t i = 0; i < devices; ++i) rows[i].device.bytes[0] = static_cast<uint8_t>(i);
  if (!std::holds_alternative<BatchDone>(store_->accept_batch(partial, rows)))
    return Error(ErrorCode::internal, "the batch of round " + name + " was not taken");
  COT_TRY(move(collecting, frozen));
  COT_TRY(move(frozen, finalizing));
  now_ += took;
  ModelRecord model = model_of(number, now_);
  COT_ASSIGN(model.digest, put("model " + name));
  COT_ASSIGN(model.optimizer_state, put("state " + name));
  COT_TRY(store_->commit_round(kJob, {{round.key, model, {.updates = devices}}, number, false, false}, now_));
  COT_TRY(blobs_->remove(partial.blob));
  return store_->forget_partials({partial.id});
}

Status RetentionWorld::enroll(uint8_t number) {
  const Digest token = content_digest(as_bytes("token"));
  if (devices_->list_tokens()->empty()) {
    COT_TRY(devices_->create_token({.digest = token,
                                    .population = Population("p"),
                                    .label = {},
                                    .uses_left = 1'000'000,
                                    .expires = now_ + kAges,
                                    .created = now_}));
  }
  DeviceRecord device;
  device.id.bytes.fill(number);
  device.public_key = Bytes(32, number);
  device.enrolled = now_;
  const Result<DeviceRecord> enrolled = devices_->enroll(token, device, now_);
  return enrolled ? Status() : Status(enrolled.error());
}

Status RetentionWorld::write_audit(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Result<AuditHead> head = admin_->append_audit({.time = now_, .who = "anna", .action = "job.pause"});
    if (!head) return head.error();
  }
  return {};
}

Result<uint64_t> RetentionWorld::pass() {
  for (uint64_t steps = 1;; ++steps) {
    COT_ASSIGN(const bool more, job_->step());
    if (!more) return steps;
  }
}

Status RetentionWorld::check() {
  COT_ASSIGN(const ModelBlobs named, store_->list_model_blobs({}, SIZE_MAX >> 1));
  for (const Digest& digest : named.blobs) {
    if (const auto blob = blobs_->get(digest, kBlobBytes); !blob) return blob.error().with_context("a row names it");
  }
  COT_ASSIGN(const std::vector<AuditSegment> segments, admin_->list_audit_segments());
  AuditHead sealed;
  for (const AuditSegment& segment : segments) {
    if (segment.before != sealed) return Error(ErrorCode::data_loss, "a segment of the audit log is missing");
    sealed = segment.head;
    if (!segment.blob) continue;
    COT_ASSIGN(const Bytes file, blobs_->get(*segment.blob, kAuditSegmentBytesMax));
    COT_TRY(decode_audit_segment(file, segment));
  }
  AuditVerifier rest({}, sealed);
  COT_ASSIGN(const std::vector<AuditRecord> records, admin_->list_audit({.after = sealed.seq}));
  for (const AuditRecord& record : records) COT_TRY(rest.append(record));
  COT_ASSIGN(const JobRecord job, store_->get_job(kJob));
  COT_TRY(blobs_->get(job.plan, kBlobBytes));
  COT_TRY(blobs_->get(job.spec.horizontal().model, kBlobBytes));
  return {};
}

Result<WorldUse> RetentionWorld::use() {
  WorldUse use;
  COT_ASSIGN(Database database, open_sqlite(database_of(directory_)));
  for (const char* const table : kTables) {
    Statement count = database.prepare(table);
    COT_ASSIGN(const bool found, count.step());
    use.rows += found ? count.u64(0) : 0;
  }
  COT_ASSIGN(const std::vector<Digest> blobs, blobs_->list(Millis(0)));
  use.files = blobs.size();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (entry.is_regular_file()) use.disk_bytes += entry.file_size();
  }
  uint64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  use.resident_bytes = resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  use.descriptors = static_cast<uint64_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
  return use;
}

}  // namespace coterie::test

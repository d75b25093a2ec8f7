// The job on stores in memory: what goes, in which order, and that nothing that is named ever does.
#include "fl_server/retention/retention_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_device_store.h"
#include "tests/support/memory_training_store.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"

namespace coterie {
namespace {

using namespace test;
using enum RoundState;

constexpr Millis kHour{3'600'000};

class CountingStore : public MemoryTrainingStore {
 public:
  Result<ModelBlobs> list_model_blobs(const std::optional<ModelBlobs::Place>& after, size_t limit) override {
    ++model_pages;
    return MemoryTrainingStore::list_model_blobs(after, limit);
  }
  uint64_t model_pages = 0;
};

class FailingBlobs : public MemoryBlobStore {
 public:
  Result<bool> remove_put_before(const Digest& digest, WallTime put_min) override {
    if (std::exchange(fails_next_removal, false)) return Error(ErrorCode::unavailable, "away for a moment");
    return MemoryBlobStore::remove_put_before(digest, put_min);
  }
  bool fails_next_removal = false;
};

class RetentionJobTest : public testing::Test {
 protected:
  RetentionJobTest() {
    JobRecord job;
    job.id = JobId("j");
    job.spec.horizontal().rounds.count = 1'000;
    job.spec.horizontal().model = put("model 0");
    job.spec.horizontal().evaluation = put("data set");
    job.plan = put("plan");
    EXPECT_OK(store_.create_job(job, model(0)));
  }

  Digest put(const std::string& content) { return *blobs_.put(as_bytes(content)); }
  bool has(const std::string& content) { return blobs_.open(content_digest(as_bytes(content))).has_value(); }
  ModelRecord model(uint64_t version) {
    ModelRecord record;
    record.job = JobId("j");
    record.version = ModelVersion(version);
    record.digest = put("model " + std::to_string(version));
    record.optimizer_state = put("state " + std::to_string(version));
    if (has_exact_ && version > 0) record.exact = put("exact " + std::to_string(version));
    record.created = now_;
    return record;
  }
  void pass_time(Millis time) {
    now_ += time;
    blobs_.pass(time);
  }
  RoundKey begin(uint64_t number) {
    const RoundKey key =
        store_.open_round(JobId("j"), {number, {}, Attempt(1), store_.load_progress(JobId("j"))->head}, now_)->key;
    EXPECT_TRUE(*store_.move_round({key, selecting, collecting, "", 1}, now_));
    DeviceId device;
    device.bytes[0] = 7;
    EXPECT_TRUE(std::holds_alternative<BatchDone>(
        store_.accept_batch({.id = "p" + std::to_string(number), .key = key, .totals = {}, .blob = {}}, {{device}})));
    EXPECT_TRUE(*store_.move_round({key, collecting, frozen, "", 1}, now_));
    EXPECT_TRUE(*store_.move_round({key, frozen, finalizing, "", 1}, now_));
    return key;
  }
  void end(const RoundKey& key, uint64_t number) {
    EXPECT_OK(store_.commit_round(JobId("j"), {{key, model(number), {}}, number, false, false}, now_));
    EXPECT_OK(store_.forget_partials({"p" + std::to_string(number)}));
  }
  void play(uint64_t number) {
    end(begin(number), number);
    pass_time(kHour);
  }
  void pass() {
    Result<bool> more = true;
    while (more && *more) more = job_.step();
    ASSERT_OK(more);
  }
  void write_audit(int count) {
    for (int i = 0; i < count; ++i) ASSERT_OK(admin_.append_audit({.time = now_, .who = "anna"}));
  }
  size_t blobs() { return blobs_.list(Millis(0))->size(); }

  bool has_exact_ = false;
  WallTime now_ = wall_time_from_unix_ms(1'750'000'000'000);
  CountingStore store_;
  MemoryAdminStore admin_;
  MemoryDeviceStore devices_;
  FailingBlobs blobs_;
  UnnamedBlobs unnamed_;
  RetentionJob job_{{.models_kept = 2,
                     .superseded_min = kHour,
                     .accepted_kept = 3 * kHour,
                     .rounds_kept = 4,
                     .rounds_kept_min = 3 * kHour,
                     .uploads_kept = 24 * kHour,
                     .devices_days = 2,
                     .audit_kept = 24 * kHour,
                     .audit_segment_records = 10,
                     .audit_segments_kept = 72 * kHour},
                    {.jobs = store_,
                     .rounds = store_,
                     .models = store_,
                     .rows = store_,
                     .admin = admin_,
                     .devices = devices_,
                     .blobs = blobs_,
                     .unnamed = unnamed_,
                     .wall_now = [this] { return now_; }},
                    3};
};

TEST_F(RetentionJobTest, KeepsWhatItIsToldToAndNoMore) {
  for (uint64_t number = 1; number <= 20; ++number) play(number);
  pass();
  EXPECT_EQ(
      job_.counts(),
      (RetentionCounts{
          .jobs = 0, .models = 18, .accepted = 17, .rounds = 16, .keys = 0, .devices = 0, .audit = 0, .blobs = 36}));
  EXPECT_EQ(store_.list_models(JobId("j"))->size(), 3u) << "the first and two";
  EXPECT_EQ(store_.list_rounds(JobId("j"), {})->size(), 4u);
  EXPECT_TRUE(has("model 0") && has("data set") && has("plan") && has("model 19") && has("model 20"));
  EXPECT_FALSE(has("model 18") || has("state 18"));
}

// Versions stay for whoever asks for one; the models that they were rounded from have one reader.
TEST_F(RetentionJobTest, KeepsTheNewestComputedModelAlone) {
  has_exact_ = true;
  for (uint64_t number = 1; number <= 4; ++number) play(number);
  pass();
  EXPECT_TRUE(has("model 3") && has("model 4") && has("exact 4"));
  EXPECT_FALSE(has("exact 3") || has("exact 2"));
}

TEST_F(RetentionJobTest, ADeletedJobGoesAFewRowsAtATime) {
  for (uint64_t number = 1; number <= 7; ++number) play(number);
  ASSERT_OK(store_.set_job_state(JobId("j"), JobState::cancelled, ""));
  ASSERT_OK(store_.delete_job(JobId("j"), {}));
  ASSERT_TRUE(*job_.step());
  EXPECT_EQ(job_.counts().models, 3u) << "as many as a step may";
  EXPECT_EQ(job_.counts().jobs, 0u);
  pass();
  EXPECT_EQ(job_.counts().models, 8u);
  EXPECT_EQ(job_.counts().jobs, 1u);
  pass_time(25 * kHour);
  pass();
  EXPECT_EQ(blobs(), 0u) << "plan, models, states, and what the job was made of";
}

// Its upload failed, or a process died between the removal of the blob and that of its note.
TEST_F(RetentionJobTest, ForgetsUploadsThatAreNotThere) {
  const UploadRoom room;
  for (uint8_t i = 0; i < 120; ++i) {  // more than a pass looks for
    ASSERT_OK(admin_.note_upload({"a", content_digest(Bytes{i}), 9, now_}, room));
  }
  ASSERT_OK(admin_.note_upload({"a", put("an upload"), 9, now_}, room));
  ASSERT_OK(admin_.note_upload({"a", content_digest(as_bytes("model 0")), 9, now_}, room));
  pass();
  EXPECT_EQ(admin_.uploads["a"].size(), 122u) << "they may be under way";
  pass_time(kHour);
  for (int i = 0; i < 4; ++i) pass();
  EXPECT_EQ(admin_.uploads["a"].size(), 2u);
  pass_time(25 * kHour);
  pass();
  EXPECT_FALSE(has("an upload"));
  EXPECT_EQ(admin_.uploads["a"].size(), 1u) << "gone with its blob, in the same pass; what a job is made of stays";
}

TEST_F(RetentionJobTest, HoldsStillHoweverLongAJobRuns) {
  for (uint64_t number = 1; number <= 30; ++number) {
    play(number);
    pass();
  }
  const size_t then = blobs();
  for (uint64_t number = 31; number <= 100; ++number) {
    play(number);
    pass();
    EXPECT_EQ(blobs(), then);
    EXPECT_EQ(store_.list_rounds(JobId("j"), {})->size(), 4u);
  }
}

TEST_F(RetentionJobTest, SealsOldRecordsOfTheAuditLogIntoFilesAndKeepsTheirSeals) {
  write_audit(25);
  pass_time(24 * kHour);
  write_audit(3);
  const AuditHead head = *admin_.audit_head();
  const std::vector<AuditRecord> all = admin_.records;
  pass();
  ASSERT_EQ(admin_.segments.size(), 2u);
  EXPECT_EQ(job_.counts().audit, 20u);
  EXPECT_EQ(admin_.records.size(), 8u) << "the rest of the old ones waits until it fills a file";
  std::vector<AuditRecord> read;
  for (const AuditSegment& segment : admin_.segments) {
    const auto records = decode_audit_segment(*blobs_.get(*segment.blob, kAuditSegmentBytesMax), segment);
    ASSERT_OK(records);
    read.insert(read.end(), records->begin(), records->end());
  }
  read.insert(read.end(), admin_.records.begin(), admin_.records.end());
  EXPECT_EQ(read, all);
  EXPECT_EQ(*admin_.audit_head(), head);
  const size_t files = blobs();
  pass_time(71 * kHour);
  pass();
  EXPECT_EQ(blobs(), files) << "a row names them, however old they are";
  pass_time(2 * kHour);
  pass();
  EXPECT_EQ(blobs(), files - 2);
  EXPECT_EQ(admin_.segments.size(), 2u);
  EXPECT_FALSE(admin_.segments[0].blob || admin_.segments[1].blob);
}

TEST_F(RetentionJobTest, RemovesNoRecordOfAnAuditLogThatWasTamperedWith) {
  write_audit(25);
  admin_.records[4].entry.who = "nobody";
  pass_time(48 * kHour);
  Result<bool> more = true;
  while (more && *more) more = job_.step();
  EXPECT_ERROR(more, ErrorCode::data_loss, "record 5 is not what was written");
  EXPECT_EQ(admin_.records.size(), 25u);
  EXPECT_TRUE(admin_.segments.empty());
}

// A round that moves the model back to bytes that it had before: its blob is one that was to go.
TEST_F(RetentionJobTest, KeepsABlobThatIsPutAgainBeforeItIsNamed) {
  for (uint64_t number = 1; number <= 6; ++number) play(number);
  const RoundKey key = begin(7);
  const Digest again = put("model 3");
  pass_time(2 * kNamingMax);  // the commit waits for a database that is away
  pass();
  EXPECT_EQ(store_.get_model(JobId("j"), ModelVersion(3)).has_value(), false);
  ASSERT_TRUE(has("model 3"));
  ModelRecord seventh = model(7);
  seventh.digest = again;
  ASSERT_OK(store_.commit_round(JobId("j"), {{key, seventh, {}}, 7, false, false}, now_));
  pass_time(48 * kHour);
  pass();
  EXPECT_TRUE(has("model 3"));
}

TEST_F(RetentionJobTest, WhatWaitsForARoundThatIsFinalizedGoesSoonAfterIt) {
  for (uint64_t number = 1; number <= 6; ++number) play(number);
  const RoundKey key = begin(7);
  pass_time(20 * kHour);
  pass();
  EXPECT_FALSE(store_.get_model(JobId("j"), ModelVersion(4)).has_value());
  end(key, 7);
  pass();
  EXPECT_FALSE(has("model 4"));
}

TEST_F(RetentionJobTest, KeepsTheBytesOfAForgottenVersionThatSomebodyUploadedSince) {
  for (uint64_t number = 1; number <= 6; ++number) play(number);
  put("model 2");
  pass_time(kHour);
  pass();
  EXPECT_FALSE(store_.get_model(JobId("j"), ModelVersion(2)).has_value());
  EXPECT_TRUE(has("model 2"));
  EXPECT_FALSE(has("model 1"));
  pass_time(24 * kHour);
  pass();
  EXPECT_FALSE(has("model 2")) << "nobody made a job of it";
}

TEST_F(RetentionJobTest, RemovesUploadsThatNobodyUses) {
  put("unused");
  pass_time(23 * kHour);
  pass();
  EXPECT_TRUE(has("unused"));
  pass_time(2 * kHour);
  pass();
  EXPECT_FALSE(has("unused"));
  EXPECT_TRUE(has("model 0") && has("state 0") && has("data set") && has("plan"));
}

// They are of a process that died when the rows were gone and the blobs were not.
TEST_F(RetentionJobTest, FindsTheBlobsThatAnotherProcessLeft) {
  for (uint64_t number = 1; number <= 4; ++number) play(number);
  ASSERT_EQ(store_.forget_models(JobId("j"), {ModelVersion(1)})->size(), 1u);
  pass_time(24 * kHour);
  pass();
  EXPECT_FALSE(has("model 1"));
}

// However many versions there are, all of them are read once for many steps, and no step reads many.
TEST_F(RetentionJobTest, ReadsNamesOnceForManyBlobs) {
  for (int i = 0; i < 400; ++i) put("stray " + std::to_string(i));
  pass_time(25 * kHour);
  for (uint64_t number = 1; number <= 2'500; ++number) end(begin(number), number);
  pass();
  EXPECT_FALSE(has("stray 0") || has("stray 399"));
  EXPECT_TRUE(has("model 0") && has("model 1") && has("model 2500"));
  EXPECT_EQ(store_.model_pages, 3u + 3u) << "to find them, and before they go";
}

TEST_F(RetentionJobTest, LooksAtVersionsThatStayWithoutReadingThemAllAtOnce) {
  for (uint64_t number = 1; number <= 20; ++number) {
    play(number);
    if (number % 2 == 0) ASSERT_OK(store_.promote_model(JobId("j"), ModelVersion(number), now_));
  }
  pass();
  EXPECT_EQ(job_.counts().models, 9u) << "pages of three begin with released ones, and one has no other";
  EXPECT_FALSE(has("model 1") || has("model 17"));
  EXPECT_TRUE(has("model 2") && has("model 18") && has("model 19"));
}

// Rounds end faster than their rows go: the pass ends all the same, and versions and blobs have gone in it.
TEST_F(RetentionJobTest, RowsThatComeAsFastAsTheyGoKeepNothingElse) {
  for (uint64_t number = 1; number <= 40; ++number) play(number);
  uint64_t number = 40, steps = 0;
  Result<bool> more = true;
  while (more && *more) {
    more = job_.step();
    ASSERT_LE(++steps, 2'000u) << "no end";
    if (job_.counts().models > 0) continue;
    for (int i = 0; i < 3; ++i) play(++number);  // as many rows as a step removes
  }
  ASSERT_OK(more);
  EXPECT_GT(job_.counts().models, 30u);
  EXPECT_FALSE(has("model 1"));
  EXPECT_TRUE(job_.is_unfinished());
  pass();
  EXPECT_FALSE(job_.is_unfinished());
  EXPECT_EQ(store_.list_rounds(JobId("j"), {})->size(), 4u);
}

// A version that goes as soon as it is superseded: whoever put its file may be about to name it again for ten minutes.
TEST_F(RetentionJobTest, ABlobThatIsTooYoungGoesTenMinutesLaterNotAsUploadsDo) {
  for (uint64_t number = 1; number <= 6; ++number) play(number);
  put("segment");
  unnamed_.add(UnnamedBlob{content_digest(as_bytes("segment")), now_});
  pass();
  EXPECT_TRUE(has("segment"));
  pass_time(kNamingMax - Millis(1'000));
  pass();
  EXPECT_TRUE(has("segment"));
  pass_time(Millis(2'000));
  pass();
  EXPECT_FALSE(has("segment"));
}

// A blob store that is away for a moment: what it did not remove goes with the next pass, not as uploads do.
TEST_F(RetentionJobTest, RemovesWhatAnErrorLeft) {
  for (uint64_t number = 1; number <= 20; ++number) play(number);
  blobs_.fails_next_removal = true;
  Result<bool> more = true;
  while (more && *more) more = job_.step();
  EXPECT_ERROR(more, ErrorCode::unavailable, "");
  EXPECT_TRUE(has("model 1") && has("model 17"));
  EXPECT_FALSE(job_.is_behind());
  pass();
  EXPECT_FALSE(has("model 1") || has("state 1") || has("model 17"));
}

TEST_F(RetentionJobTest, IsBehindWhileAnotherStepIsNotEnough) {
  for (int i = 0; i < 120; ++i) put("stray " + std::to_string(i));
  pass_time(25 * kHour);
  std::vector<std::pair<uint64_t, bool>> removed;  // so far, and whether it is behind then
  Result<bool> more = true;
  while (more && *more) {
    const uint64_t before = job_.counts().blobs;
    more = job_.step();
    if (job_.counts().blobs != before) removed.emplace_back(job_.counts().blobs, job_.is_behind());
  }
  ASSERT_OK(more);
  EXPECT_EQ(removed, (std::vector<std::pair<uint64_t, bool>>{{50, true}, {100, false}, {120, false}}));
}

TEST_F(RetentionJobTest, IsNotBehindWhenAPassHasFailed) {
  for (int i = 0; i < 120; ++i) put("stray " + std::to_string(i));
  pass_time(25 * kHour);
  while (!job_.is_behind()) ASSERT_OK(job_.step());
  blobs_.fails_next_removal = true;
  EXPECT_ERROR(job_.step(), ErrorCode::unavailable, "");
  EXPECT_FALSE(job_.is_behind()) << "that pass is over";
}

TEST_F(RetentionJobTest, AStepRemovesNoMoreThanItsRows) {
  for (uint64_t number = 1; number <= 20; ++number) play(number);
  RetentionCounts before;
  Result<bool> more = true;
  while (more && *more) {
    more = job_.step();
    const RetentionCounts& now = job_.counts();
    EXPECT_LE(now.models - before.models + now.accepted - before.accepted + now.rounds - before.rounds, 3u);
    before = now;
  }
  EXPECT_EQ(before.models, 18u);
}

}  // namespace
}  // namespace coterie

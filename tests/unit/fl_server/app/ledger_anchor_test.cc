// A ledger that is cut, or put back, beside a data directory that knows better.
#include "fl_server/app/ledger_anchor.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_training_store.h"
#include "secure/dp/ledger/ledger_heads.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;

class LedgerAnchor : public testing::Test {
 protected:
  void SetUp() override {
    auto data = DataDirectory::open(directory_ / "data");
    ASSERT_OK(data);
    data_ = std::make_unique<DataDirectory>(*std::move(data));
    signer_ = data_->signer().value();
  }
  Status start() {
    store_.reset();
    COT_ASSIGN(store_, SqlTrainingStore::open(open_sqlite(database())));
    return keep_ledger_anchor(*store_, *data_, *signer_);
  }
  // A round of job j, with all that its ledger has of it.
  void release(uint64_t number) {
    if (number == 1) ASSERT_OK(store_->create_job(noisy_job_record("j"), model_record("j", 0)));
    const auto round = store_->open_round(JobId("j"), {number, {}, Attempt(1), model_record("j", number - 1)}, wall(1));
    ASSERT_OK(round);
    using enum RoundState;
    for (const auto& [from, to] : {std::pair(selecting, collecting), {collecting, frozen}, {frozen, finalizing}}) {
      ASSERT_TRUE(*store_->move_round({round->key, from, to, "", 0}, wall(2)));
    }
    ASSERT_OK(store_->reserve_release(round->key, NoiseSalt(), wall(3)));
    EXPECT_EQ(kept().heads.chain, *store_->ledger_head()) << "before noise is drawn";
    const FinalizedRound finalized{round->key, model_record("j", number), {3, 3, 30, 1, 2, 9}, filled_digest(0x77)};
    ASSERT_OK(store_->commit_round(JobId("j"), {finalized, number, false, false}, wall(4)));
    EXPECT_EQ(kept().heads.chain, *store_->ledger_head());
  }
  SignedHeads kept() const {
    const Result<Bytes> file = os::read_file(heads_file(), kSignedHeadsBytesMax);
    EXPECT_OK(file);
    return read_signed_heads(as_text(file.value_or(Bytes()))).value();
  }
  void execute(const char* sql) {
    store_.reset();
    Result<Database> opened = open_sqlite(database());
    ASSERT_OK(opened);
    ASSERT_OK(opened->execute(sql));
  }
  std::string database() const { return data_->path("coterie.sqlite3"); }
  std::string heads_file() const { return data_->path(kLedgerHeadsFile); }

  TemporaryDirectory directory_{memory_disk()};
  std::unique_ptr<DataDirectory> data_;
  std::unique_ptr<Signer> signer_;
  std::unique_ptr<SqlTrainingStore> store_;
};

TEST_F(LedgerAnchor, NamesTheLedgerAndIsSigned) {
  ASSERT_OK(start());
  EXPECT_FALSE(os::exists(heads_file())) << "there is nothing to name";
  release(1);
  EXPECT_EQ(kept().heads.chain.records, 2u);
  EXPECT_EQ(kept().heads.logs.at(Population("default")).size, 2u);
  EXPECT_EQ(kept().public_key, signer_->public_key());
  ASSERT_OK(start());
  release(2);
  ASSERT_OK(start());
}

// The chain of digests alone does not see it: what is left is a ledger.
TEST_F(LedgerAnchor, FindsAnEndThatWasCutOff) {
  ASSERT_OK(start());
  release(1);
  release(2);
  execute("DELETE FROM ledger WHERE seq > 2");
  EXPECT_ERROR(start(), ErrorCode::data_loss, "its end is gone");
  EXPECT_ERROR(start(), ErrorCode::data_loss, "ledger.heads") << "and goes on finding it";
  EXPECT_EQ(kept().heads.chain.records, 4u);
  ASSERT_OK(os::remove_file(heads_file()));
  EXPECT_OK(start()) << "who was told what that means";
}

TEST_F(LedgerAnchor, FindsALastRecordThatWasChanged) {
  ASSERT_OK(start());
  release(1);
  execute("UPDATE ledger SET contributors = 4 WHERE seq = 2");
  EXPECT_ERROR(start(), ErrorCode::data_loss, "not the one that was there");
}

// The file was not written at last: the machine went down behind the commit.
TEST_F(LedgerAnchor, IsContentWithALedgerThatWentOn) {
  ASSERT_OK(start());
  release(1);
  const Bytes older = os::read_file(heads_file(), kSignedHeadsBytesMax).value();
  release(2);
  ASSERT_OK(os::write_file_atomically(heads_file(), older));
  ASSERT_OK(start());
  EXPECT_EQ(kept().heads.chain.records, 4u) << "and names it now";
}

TEST_F(LedgerAnchor, ThatWasChangedIsNone) {
  ASSERT_OK(start());
  release(1);
  std::string text(as_text(os::read_file(heads_file(), kSignedHeadsBytesMax).value()));
  text.replace(text.find("chain 2"), 7, "chain 1");
  ASSERT_OK(os::write_file_atomically(heads_file(), as_bytes(text)));
  EXPECT_ERROR(start(), ErrorCode::unauthenticated, "ledger.heads");
}

}  // namespace
}  // namespace coterie

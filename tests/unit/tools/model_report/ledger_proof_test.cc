// What a report makes of an exported ledger: figures of its records alone, and doubts where something was changed.
#include "tools/model_report/ledger_proof.h"

#include <gmock/gmock.h>

#include "base/os/file.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/exported_ledger.h"

namespace coterie {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LedgerProofs : public ExportedLedger {};

TEST_F(LedgerProofs, AreOfTheRecordsAlone) {
  const Result<LedgerProof> proof = prove_ledger(answer_, 1e-6, "");
  ASSERT_OK(proof);
  EXPECT_EQ(proof->records, 5u);
  EXPECT_EQ(proof->head, ledger_.head().hex());
  EXPECT_FALSE(proof->has_runs_head);
  ASSERT_EQ(proof->populations.size(), 2u);
  const PopulationProof& phones = proof->populations[0];
  EXPECT_EQ(phones.population, "phones");
  EXPECT_EQ(phones.records, 3u);
  EXPECT_EQ(phones.releases, 2u);
  EXPECT_EQ(phones.root, logs_.log_of(Population("phones")).root().hex());
  EXPECT_DOUBLE_EQ(phones.epsilon, ledger_.spent(JobId("a"), 1e-6)->account.epsilon);
  EXPECT_EQ(proof->populations[1].releases, 0u) << "its one release was voided";
  EXPECT_THAT(proof->assumptions, Not(IsEmpty()));
}

TEST_F(LedgerProofs, KnowWhetherTheRunsHeadIsAmongTheRecords) {
  const std::string of_run = answer_["records"][2]["digest"];
  EXPECT_EQ(prove_ledger(answer_, 1e-6, of_run)->has_runs_head, true) << "the ledger went on behind it";
  EXPECT_EQ(prove_ledger(answer_, 1e-6, std::string(64, '0'))->has_runs_head, false);
  EXPECT_EQ(prove_ledger(answer_, 1e-6, "no digest")->has_runs_head, false);
}

TEST_F(LedgerProofs, AChangedRecordIsNoProof) {
  nlohmann::json changed = answer_;
  changed["records"][0]["variance"] = 1e9;
  EXPECT_EQ(prove_ledger(changed, 1e-6, "").error().code(), ErrorCode::data_loss);
  changed = answer_;
  changed["records"].erase(1);
  EXPECT_EQ(prove_ledger(changed, 1e-6, "").error().code(), ErrorCode::data_loss);
  EXPECT_EQ(prove_ledger({{"records", 7}}, 1e-6, "").error().code(), ErrorCode::malformed);
}

TEST_F(LedgerProofs, NameTheFile) {
  const test::TemporaryDirectory folder;
  const std::string file = folder / "ledger.json";
  ASSERT_OK(os::write_file_atomically(file, as_bytes(answer_.dump())));
  EXPECT_EQ(read_ledger_proof(file, 1e-6, "")->file, file);
  ASSERT_OK(os::write_file_atomically(file, as_bytes("{")));
  EXPECT_THAT(read_ledger_proof(file, 1e-6, "").error().message(), HasSubstr("ledger.json: is no JSON"));
  EXPECT_FALSE(read_ledger_proof(folder / "no", 1e-6, ""));
}

}  // namespace
}  // namespace coterie

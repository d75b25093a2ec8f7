// A ledger that was exported, judged offline.
#include "tools/admin/ledger_records.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/tools/exported_ledger.h"
#include "tools/cli/privacy_verify.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST_F(ExportedLedger, IsReadBackByTheBit) {
  const Result<LedgerExport> read = read_ledger_export(json::parse(answer_.dump()));
  ASSERT_OK(read);
  EXPECT_EQ(read->ledger.head(), ledger_.head());
  EXPECT_EQ(read->logs.log_of(Population("phones")).root(), logs_.log_of(Population("phones")).root());
  const std::string text = verified_text(*read).value();
  EXPECT_THAT(text, HasSubstr("5 records"));
  EXPECT_THAT(text, HasSubstr("population phones: 3 records, root " + logs_.log_of(Population("phones")).root().hex() +
                              "; 2 releases, epsilon "));
  EXPECT_THAT(text, HasSubstr("population tablets: 2 records"));
  EXPECT_THAT(text, HasSubstr("0 releases, epsilon 0 "));
}

TEST_F(ExportedLedger, IsRefusedWhateverIsChanged) {
  for (size_t i = 0; i < answer_["records"].size(); ++i) {
    for (const auto& [key, value] : answer_["records"][i].items()) {
      if (key == "time" || key == "population") continue;  // words for the same; judged by the heads
      json changed = answer_;
      json& field = changed["records"][i][key];
      if (value.is_string()) field = value == "reserve" ? "voided" : "reserve";
      else field = value.get<double>() + 1;
      EXPECT_FALSE(read_ledger_export(changed)) << i << " " << key;
    }
    json cut = answer_;
    cut["records"].erase(i);
    EXPECT_ERROR(read_ledger_export(cut), ErrorCode::data_loss, "") << "the head says that there are more";
  }
  EXPECT_ERROR(read_ledger_export(json()), ErrorCode::malformed, "");
  EXPECT_ERROR(read_ledger_export({{"records", {1}}}), ErrorCode::malformed, "");
}

TEST_F(ExportedLedger, GoesOnFromHeadsOfBefore) {
  const std::string before = heads();
  add("a", "phones", 4, LedgerKind::reserve);
  const LedgerExport now = read_ledger_export(answer_).value();
  EXPECT_OK(verify_against(now, before, ""));
  const std::string key = to_hex(make_signer(KeyAlgorithm::ed25519, Bytes(32, 7)).value()->public_key());
  EXPECT_OK(verify_against(now, before, key));
  EXPECT_ERROR(verify_against(now, before, std::string(64, '0')), ErrorCode::unauthenticated, "signed by");

  json cut = answer_;
  const std::string after = heads();
  cut["records"].erase(5);
  cut["head"] = {{"seq", 5}, {"digest", cut["records"][4]["digest"]}};
  const LedgerExport shorter = read_ledger_export(cut).value();
  EXPECT_OK(verify_against(shorter, before, key));
  EXPECT_ERROR(verify_against(shorter, after, key), ErrorCode::data_loss, "its end is gone");

  json moved = answer_;
  moved["records"][0]["population"] = "tablets";
  EXPECT_ERROR(verify_against(read_ledger_export(moved).value(), after, key), ErrorCode::data_loss, "of population");
}

TEST_F(ExportedLedger, OfAServerOfBeforeNamesNoPopulations) {
  for (json& record : answer_["records"]) record.erase("population");
  const LedgerExport read = read_ledger_export(answer_).value();
  EXPECT_FALSE(read.has_populations);
  EXPECT_OK(verify_against(read, heads(), ""));
  EXPECT_THAT(verified_text(read).value(), HasSubstr("do not say of which population"));
  EXPECT_THAT(verified_text(read).value(), Not(HasSubstr("root")));
}

}  // namespace
}  // namespace coterie

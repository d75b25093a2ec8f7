// A privacy ledger of two populations, and its export as the admin plane gives it.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "secure/dp/ledger/ledger_heads.h"
#include "tests/support/matchers.h"

namespace coterie {

// As GET /admin/v1/ledger shows it (fl_server/admin_api/ledger.cc).
inline nlohmann::json shown_record(const LedgerRecord& record, const std::string& population) {
  const LedgerRelease& release = record.release;
  nlohmann::json json = {{"seq", record.seq},
                         {"previous", record.previous.hex()},
                         {"job", record.job.value()},
                         {"population", population},
                         {"round", record.round.round.value()},
                         {"attempt", record.round.attempt.value()},
                         {"kind", to_string(record.kind)},
                         {"mechanism", "discrete_gaussian"},
                         {"variance", release.variance},
                         {"l1_sensitivity", release.l1_sensitivity},
                         {"l2_sensitivity", release.l2_sensitivity},
                         {"total_variation", release.total_variation},
                         {"delta", record.delta},
                         {"time", "2025-10-09T08:53:20.000Z"},
                         {"unix_ms", unix_ms(record.time)},
                         {"digest", digest_of(record).hex()}};
  if (record.kind == LedgerKind::commit) {
    json["contributors"] = record.contributors;
    json["noise_commitment"] = record.noise_commitment.hex();
  }
  return json;
}

class ExportedLedger : public testing::Test {
 protected:
  void SetUp() override {
    add("a", "phones", 1, LedgerKind::reserve);
    add("b", "tablets", 2, LedgerKind::reserve);
    add("a", "phones", 1, LedgerKind::commit);
    add("b", "tablets", 2, LedgerKind::voided);
    add("a", "phones", 3, LedgerKind::reserve);
  }
  void add(const std::string& job, const std::string& population, uint64_t number, LedgerKind kind) {
    const RoundKey round{RoundId(number), Attempt(1)};
    LedgerRelease release;
    release.variance = 1.0 / 3 * 1e4;
    release.l1_sensitivity = 1;
    release.l2_sensitivity = 0.1;
    Digest commitment;
    commitment.bytes.fill(0x77);
    const WallTime now = wall_time_from_unix_ms(1'760'000'000'000);
    const Result<LedgerRecord> record =
        kind == LedgerKind::reserve  ? ledger_.reserve(JobId(job), round, release, {1e6, 1e-6}, now)
        : kind == LedgerKind::commit ? ledger_.commit(round, release, 3, commitment, now)
                                     : ledger_.void_reserve(round, now);
    ASSERT_OK(record);
    ASSERT_OK(ledger_.append(*record));
    logs_.append(*record, Population(population));
    answer_["records"].push_back(shown_record(*record, population));
    answer_["head"] = {{"seq", ledger_.size()}, {"digest", ledger_.head().hex()}};
  }
  std::string heads() const {
    const auto signer = make_signer(KeyAlgorithm::ed25519, Bytes(32, 7)).value();
    return signed_text(heads_of(ledger_, logs_, WallTime()), *signer).value();
  }
  nlohmann::json answer_ = {{"records", nlohmann::json::array()}};
  Ledger ledger_;
  PopulationLogs logs_;
};

}  // namespace coterie

// The signed names of a ledger, and what they find out about a later one.
#include "secure/dp/ledger/ledger_heads.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "secure/merkle/merkle_proof.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

struct World {
  Ledger ledger;
  PopulationLogs logs;
  // A reserve of attempt `number` of a job of the population.
  void reserve(const std::string& job, const std::string& population, uint64_t number) {
    const PrivacyBudget budget{1e6, 1e-6};
    LedgerRelease release;
    release.variance = 100;
    release.l1_sensitivity = 1;
    release.l2_sensitivity = 1;
    const auto record = ledger.reserve(JobId(job), {RoundId(number), Attempt(1)}, release, budget, WallTime());
    ASSERT_OK(record);
    ASSERT_OK(ledger.append(*record));
    logs.append(*record, Population(population));
  }
  LedgerHeads heads() const { return heads_of(ledger, logs, wall_time_from_unix_ms(1'760'000'000'123)); }
};

std::unique_ptr<Signer> signer() { return make_signer(KeyAlgorithm::ed25519, Bytes(32, 7)).value(); }

TEST(LedgerHeads, AreReadAsTheyWereSigned) {
  World world;
  world.reserve("a", "phones of\nanna", 1);
  world.reserve("b", "tablets", 2);
  world.reserve("a", "phones of\nanna", 3);
  const LedgerHeads heads = world.heads();
  EXPECT_EQ(heads.logs.at(Population("phones of\nanna")).size, 2u);
  const std::string text = signed_text(heads, *signer()).value();
  const Result<SignedHeads> read = read_signed_heads(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->heads.chain, heads.chain);
  EXPECT_EQ(read->heads.logs, heads.logs);
  EXPECT_EQ(read->heads.time, heads.time);
  EXPECT_EQ(read->public_key, signer()->public_key());
  EXPECT_OK(read_signed_heads(signed_text(World().heads(), *signer()).value())) << "of a ledger without records";
}

TEST(LedgerHeads, AreRefusedOnceAnyByteIsChanged) {
  World world;
  world.reserve("a", "phones", 1);
  const std::string text = signed_text(world.heads(), *signer()).value();
  Prng prng(5);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ (1 + prng.below(127)));
    EXPECT_FALSE(read_signed_heads(changed)) << i;
    EXPECT_FALSE(read_signed_heads(text.substr(0, i))) << i;
  }
  EXPECT_FALSE(read_signed_heads(text + text));
  std::string upper = text;
  for (char& c : upper) c = c == 'a' ? 'A' : c;
  EXPECT_FALSE(read_signed_heads(upper));
}

TEST(LedgerHeads, FindAnEndThatIsGoneAndAnotherLedger) {
  World world;
  world.reserve("a", "phones", 1);
  world.reserve("b", "tablets", 2);
  const LedgerHeads two = world.heads();
  EXPECT_OK(verify_continues(world.ledger, world.logs, two));
  world.reserve("b", "tablets", 3);
  EXPECT_OK(verify_continues(world.ledger, world.logs, two)) << "it goes on";
  const LedgerHeads three = world.heads();

  World cut;
  cut.reserve("a", "phones", 1);
  cut.reserve("b", "tablets", 2);
  EXPECT_ERROR(verify_continues(cut.ledger, cut.logs, three), ErrorCode::data_loss, "its end is gone");
  World other;
  for (uint64_t i = 1; i <= 5; ++i) other.reserve("b", "tablets", i);
  EXPECT_ERROR(verify_continues(other.ledger, other.logs, three), ErrorCode::data_loss, "not the one that was there");
}

// The records are all there, but not in their populations.
TEST(LedgerHeads, FindARecordInAnotherPopulation) {
  World world, moved;
  world.reserve("a", "phones", 1);
  world.reserve("b", "phones", 2);
  moved.reserve("a", "phones", 1);
  moved.reserve("b", "tablets", 2);
  EXPECT_EQ(world.ledger.head(), moved.ledger.head());
  EXPECT_ERROR(verify_continues(moved.ledger, moved.logs, world.heads()), ErrorCode::data_loss,
               "of population phones there are 1 records, there were 2");
  moved.reserve("c", "phones", 3);
  EXPECT_ERROR(verify_continues(moved.ledger, moved.logs, world.heads()), ErrorCode::data_loss, "of population phones");
}

// What is released elsewhere neither shows in a population's root nor makes its log longer.
TEST(PopulationLogs, KnowTheirHeadsOfBefore) {
  World world;
  const Population phones("phones");
  std::vector<LogHead> heads{{}};  // by the ledger's records
  for (uint64_t number = 1; number <= 20; ++number) {
    world.reserve("a", number % 3 == 0 ? "phones" : "tablets", number);
    const MerkleLog& log = world.logs.log_of(phones);
    heads.push_back(log.size() == 0 ? LogHead{} : LogHead{log.size(), log.root()});
  }
  for (uint64_t records = 0; records <= 20; ++records) {
    EXPECT_EQ(world.logs.head_at(phones, records, 20).value(), heads[records]) << records;
  }
  EXPECT_EQ(world.logs.head_at(Population("none"), 20, 20).value(), LogHead{});
  EXPECT_ERROR(world.logs.head_at(phones, 21, 20), ErrorCode::conflict, "not 21 yet");
}

TEST(PopulationLogs, ProveThatALaterHeadGoesOnFromAnEarlierOne) {
  World world;
  const Population phones("phones");
  for (uint64_t number = 1; number <= 24; ++number) world.reserve("a", number % 2 == 0 ? "phones" : "tablets", number);
  const MerkleLog& log = world.logs.log_of(phones);
  for (uint64_t size = 1; size <= 12; ++size) {
    for (uint64_t before = 1; before <= size; ++before) {
      const Result<LogProof> proof = world.logs.prove(phones, before, size);
      ASSERT_OK(proof);
      EXPECT_OK(verify_consistency(before, log.root(before), size, log.root(size), proof->hashes));
      EXPECT_LE(proof->hashes.size(), 5u) << "a proof grows with the logarithm";
    }
  }
  EXPECT_ERROR(world.logs.prove(phones, 1, 13), ErrorCode::not_found, "has 12 records, not 13");
  EXPECT_ERROR(world.logs.prove(phones, 3, 2), ErrorCode::invalid_argument, "");
  EXPECT_ERROR(world.logs.prove(Population("none"), 0, 1), ErrorCode::not_found, "has 0 records");
}

TEST(PopulationLogs, KeepNoRecordOfOthers) {
  World alone, beside;
  alone.reserve("a", "phones", 1);
  for (uint64_t i = 1; i <= 4; ++i) beside.reserve("decoy", "elsewhere", 100 + i);
  const LogHead before = {beside.logs.log_of(Population("phones")).size(),
                          beside.logs.log_of(Population("phones")).root()};
  EXPECT_EQ(before, (LogHead{0, MerkleLog().root()}));
  beside.reserve("a", "phones", 1);
  const LogHead one = beside.heads().logs.at(Population("phones"));
  EXPECT_EQ(one.size, 1u);
  for (uint64_t i = 5; i <= 300; ++i) beside.reserve("decoy", "elsewhere", 100 + i);
  EXPECT_EQ(beside.heads().logs.at(Population("phones")), one);
  EXPECT_EQ(beside.logs.jobs_of(Population("phones")), std::vector<JobId>{JobId("a")});
  EXPECT_TRUE(beside.logs.jobs_of(Population("nobody")).empty());
}

}  // namespace
}  // namespace coterie

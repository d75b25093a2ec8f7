#include "vertical/psi/matching.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "secure/crypto/ristretto_kernel.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical/psi_pair.h"
#include "vertical/psi/blinding.h"

namespace coterie::test {
namespace {

using namespace vertical;

std::vector<std::string> expected_shared(std::vector<std::string> x, std::vector<std::string> y) {
  std::ranges::sort(x);
  std::ranges::sort(y);
  std::vector<std::string> shared;
  std::ranges::set_intersection(x, y, std::back_inserter(shared));
  return shared;
}

TEST(PsiBlinding, AnotherSaltGivesAnotherElement) {
  EXPECT_NE(psi_element(Bytes(32, 1), "anna"), psi_element(Bytes(32, 2), "anna"));
}

TEST(PsiBlinding, OrdersAreUniformAndOnesOwn) {
  const Blinding mine(psi_seed(1)), other(psi_seed(2));
  EXPECT_EQ(mine.order(3, 1000), mine.order(3, 1000));
  EXPECT_NE(mine.order(3, 1000), mine.order(4, 1000));
  EXPECT_NE(mine.order(3, 1000), other.order(3, 1000));
  // All six orders of three things: chi-square with 5 degrees of freedom, 1e-4 quantile.
  std::map<std::vector<uint32_t>, int> count;
  for (uint32_t bucket = 0; bucket < 6000; ++bucket) ++count[mine.order(bucket, 3)];
  ASSERT_EQ(count.size(), 6u);
  double chi2 = 0;
  for (const auto& [order, seen] : count) chi2 += (seen - 1000.0) * (seen - 1000.0) / 1000.0;
  EXPECT_LT(chi2, 25.7);
}

TEST(PsiSettings, TagsGrowWithTheSets) {
  EXPECT_EQ(psi_tag_bytes(1u << 28, 1u << 28), 12u);
  EXPECT_EQ(psi_tag_bytes((1u << 28) + 1, 1u << 28), 16u);
  EXPECT_EQ(psi_tag_bytes(0, 1), 12u);
}

TEST(IdSet, RefusesOrCollapsesDuplicatesAloud) {
  EXPECT_ERROR(IdSet::make({"a", "b", "a"}, Duplicates::refuse), ErrorCode::invalid_argument,
               "row 2 has the id of row 0");
  const Result<IdSet> set = IdSet::make({"a", "b", "a"}, Duplicates::collapse);
  ASSERT_OK(set);
  EXPECT_EQ(set->items(), 2u);
  EXPECT_EQ(set->collapsed(), 1u);
}

TEST(IdSet, RefusesWhatIsNoId) {
  for (const char* bad : {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xbc", "\x80", "\xff"}) {
    EXPECT_ERROR(IdSet::make({"good", bad}, Duplicates::refuse), ErrorCode::malformed, "row 1: an id must be UTF-8");
  }
  EXPECT_ERROR(IdSet::make({std::string(1025, 'x')}, Duplicates::refuse), ErrorCode::malformed, "has 1025");
  EXPECT_OK(IdSet::make({"", "\u5f20\u4e09", std::string(300, 'x'), "\U0001F600"}, Duplicates::refuse));
}

TEST(Matching, FindsWhatBothHave) {
  for (const auto& [n, m, step, size] :
       std::vector<std::array<uint32_t, 4>>{{0, 10, 1, 0}, {1, 1, 1, 1}, {1000, 700, 3, 334}, {0, 0, 1, 0}}) {
    const auto x = numbered_ids(n), y = numbered_ids(m, step);
    PsiPair pair(x, y, psi_settings());
    ASSERT_OK(pair.run());
    EXPECT_EQ(shared_ids(pair, x, y), expected_shared(x, y));
    EXPECT_EQ(pair.label->outcome().count, size);
    EXPECT_EQ(pair.label->outcome(), pair.feature->outcome());
    EXPECT_EQ(pair.label->peer_items(), m);
  }
}

TEST(Matching, EqualsSetIntersectionOn200RandomCases) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    std::set<std::string> a, b;
    for (uint64_t i = random.below(40); i > 0; --i) a.insert("id" + std::to_string(random.below(50)));
    for (uint64_t i = random.below(40); i > 0; --i) b.insert("id" + std::to_string(random.below(50)));
    std::vector<std::string> x(a.begin(), a.end()), y(b.begin(), b.end());
    random.shuffle(x);
    random.shuffle(y);
    PsiPair pair(x, y, psi_settings(1 + random.below(20)));
    ASSERT_OK(pair.run());
    EXPECT_EQ(shared_ids(pair, x, y), expected_shared(x, y));
  }
}

TEST(Matching, SaysTheSameWhenItRunsAgain) {
  PsiPair one(numbered_ids(50), numbered_ids(30, 2), psi_settings(8)),
      two = {numbered_ids(50), numbered_ids(30, 2), psi_settings(8)};
  ASSERT_OK(one.run());
  ASSERT_OK(two.run());
  ASSERT_EQ(one.transcript.size(), two.transcript.size());
  for (size_t i = 0; i < one.transcript.size(); ++i) {
    EXPECT_EQ(one.transcript[i].message.payload, two.transcript[i].message.payload);
  }
}

// Whichever kernel multiplies: a party may go on with its run on another machine.
TEST(Matching, SaysTheSameBytesByEachKernel) {
  std::vector<std::vector<Bytes>> said;
  for (const RistrettoKernel& kernel : ristretto_kernels()) {
    force_ristretto_kernel(&kernel);
    PsiPair pair(numbered_ids(50), numbered_ids(30, 2), psi_settings(8));
    EXPECT_OK(pair.run());
    said.emplace_back();
    for (const Passed& passed : pair.transcript) said.back().push_back(passed.message.payload);
  }
  force_ristretto_kernel(nullptr);
  for (const std::vector<Bytes>& one : said) EXPECT_EQ(one, said.back());
}

TEST(Matching, SaysNothingButItsFourListsAndSizes) {
  const uint64_t n = 300, m = 200;
  PsiPair pair(numbered_ids(n), numbered_ids(m, 2), psi_settings(64));
  ASSERT_OK(pair.run());
  std::map<std::pair<int, uint16_t>, uint64_t> entry_bytes;
  for (const Passed& passed : pair.transcript) {
    const size_t header = passed.message.kind == 1 || passed.message.kind == 5 ? 0 : 12;
    entry_bytes[{passed.from, passed.message.kind}] += passed.message.payload.size() - header;
  }
  const std::map<std::pair<int, uint16_t>, uint64_t> allowed{{{0, 1}, 44},     {{1, 1}, 44},     {{0, 2}, 32 * n},
                                                             {{1, 2}, 32 * m}, {{1, 3}, 12 * n}, {{0, 4}, 8 * 150},
                                                             {{0, 5}, 40},     {{1, 5}, 40}};
  EXPECT_EQ(entry_bytes, allowed);
}

// Memory goes with the lists that are under way.
TEST(Matching, KeepsListsAsLongAsABucket) {
  PsiPair pair(numbered_ids(2000), numbered_ids(1000, 2), psi_settings(50));
  ASSERT_OK(pair.run());
  std::set<uint32_t> buckets;
  for (const Passed& passed : pair.transcript) {
    if (passed.message.kind == 1 || passed.message.kind == 5) continue;
    const ByteView bytes(passed.message.payload);
    buckets.insert(read_u32(bytes));
    EXPECT_LE(read_u32(bytes.subspan(4)), psi_bucket_size_max(2000, 40));
  }
  EXPECT_EQ(buckets.size(), 40u);
}

TEST(Matching, RefusesABucketThatNoHashWouldFill) {
  const PsiSettings settings = psi_settings(10);
  PsiPair pair(numbered_ids(4000), numbered_ids(10), settings);
  ASSERT_OK(pair.run(2));
  Message masked = *pair.label->next();
  masked.peer = 0;
  write_u32(std::span(masked.payload).subspan(4), 200);
  EXPECT_ERROR(pair.feature->receive(masked), ErrorCode::too_large, "bucket 0 may have 112 entries, is to have 200");
}

TEST(Matching, RefusesFewerIdsThanWereSaid) {
  PsiPair pair(numbered_ids(5), numbered_ids(5), psi_settings());
  Message hello = *pair.label->next();
  hello.peer = 0;
  hello.payload[4] = 6;  // items
  ASSERT_OK(pair.feature->receive(hello));
  for (int i = 0; i < 5; ++i) {
    for (const auto& [from, to] :
         {std::pair(pair.feature.get(), pair.label.get()), {pair.label.get(), pair.feature.get()}}) {
      while (std::optional<Message> message = from->next()) {
        message->peer = from == pair.label.get() ? 0 : 1;
        const Status status = to->receive(*message);
        if (!status) {
          EXPECT_ERROR(status, ErrorCode::malformed, "said that it has 6 ids, 5 came");
          return;
        }
      }
    }
  }
  FAIL() << "nobody noticed";
}

TEST(Matching, MakesNoTableOfBucketsByAPeersWordAlone) {
  EXPECT_EQ(psi_bucket_count(psi_settings(1), 1, kPsiItemsMax), kPsiBucketsMax);
  PsiPair pair(numbered_ids(1), numbered_ids(1), psi_settings());
  Message hello = *pair.label->next();
  hello.peer = 0;
  hello.payload[11] = 1;
  EXPECT_ERROR(pair.feature->receive(hello), ErrorCode::too_large, "the peer has 72057594037927937");
}

TEST(Matching, CutsABigListIntoMessages) {
  // 32,767 elements fit one message.
  const auto x = numbered_ids(32'768), y = numbered_ids(3);
  PsiPair pair(x, y, psi_settings());
  ASSERT_OK(pair.run());
  EXPECT_EQ(shared_ids(pair, x, y), y);
  EXPECT_EQ(pair.transcript[2].message.payload.size(), 12u + 32 * 32'767);
  EXPECT_EQ(pair.transcript[3].message.payload.size(), 12u + 32);
  for (const Passed& passed : pair.transcript) EXPECT_LE(passed.message.payload.size(), kMessageBytesMax);
}

TEST(Matching, RefusesAnIntersectionThatIsTooSmall) {
  PsiSettings settings = psi_settings();
  settings.intersection_min = 11;
  PsiPair pair(numbered_ids(20), numbered_ids(10), settings);
  EXPECT_ERROR(pair.run(), ErrorCode::refused, "share 10 ids, and the job asks for at least 11");
  // The label party has not said which they are.
  for (const Passed& passed : pair.transcript) EXPECT_NE(passed.message.kind, static_cast<uint16_t>(PsiKind::matches));
  settings.intersection_min = 10;
  EXPECT_OK(PsiPair(numbered_ids(20), numbered_ids(10), settings).run());
}

TEST(Matching, RefusesOtherSettings) {
  PsiPair one(numbered_ids(5), numbered_ids(5), psi_settings(8));
  PsiPair two(numbered_ids(5), numbered_ids(5), psi_settings(9));
  one.feature = std::move(two.feature);
  EXPECT_ERROR(one.run(), ErrorCode::conflict, "other settings");
}

// A message that a hostile peer changed: each of the honest run's, in each of these ways, is refused; what stays well
// formed ends with a wrong result at the latest.
TEST(Matching, RefusesHostileMessagesAtEachStep) {
  const PsiSettings settings = psi_settings(16);
  PsiPair honest(numbered_ids(40), numbered_ids(30, 2), settings);
  ASSERT_OK(honest.run());
  using Change = void (*)(Message&);
  const std::vector<Change> changes = {
      [](Message& message) { message.kind = static_cast<uint16_t>(message.kind % 5 + 1); },
      [](Message& message) { message.kind = 999; },
      [](Message& message) { message.peer += 7; },
      [](Message& message) { message.payload.clear(); },
      [](Message& message) { message.payload.pop_back(); },
      [](Message& message) { message.payload.push_back(0); },
      [](Message& message) { message.payload.resize(kMessageBytesMax + 1); },
      [](Message& message) { message.payload[0] ^= 1; },
      [](Message& message) { message.payload[4] ^= 0x40; },
  };
  for (size_t step = 0; step < honest.transcript.size(); ++step) {
    for (size_t change = 0; change < changes.size(); ++change) {
      SCOPED_TRACE(std::to_string(step) + " by " + std::to_string(change));
      PsiPair pair(numbered_ids(40), numbered_ids(30, 2), settings);
      ASSERT_OK(pair.run(step));
      Message message = honest.transcript[step].message;
      changes[change](message);
      Matching& victim = honest.transcript[step].from == 0 ? *pair.feature : *pair.label;
      const bool is_hello_count = message.kind == 1 && change == 8;  // another number of items is believed
      if (is_hello_count) continue;
      const Status status = victim.receive(message);
      EXPECT_FALSE(status.has_value());
    }
  }
}

TEST(Matching, RefusesWhatIsNoElement) {
  for (const uint8_t fill : {uint8_t{0}, uint8_t{0xff}}) {
    PsiPair pair(numbered_ids(4), numbered_ids(4), psi_settings());
    ASSERT_OK(pair.run(2));
    Message masked = *pair.label->next();
    masked.peer = 0;
    std::fill_n(masked.payload.begin() + 12 + 32, 32, fill);
    EXPECT_ERROR(pair.feature->receive(masked), ErrorCode::malformed, "bucket 0, entry 1");
  }
}

TEST(Matching, RefusesAnElementThatComesTwice) {
  PsiPair pair(numbered_ids(4), numbered_ids(4), psi_settings());
  ASSERT_OK(pair.run(4));
  Message masked = *pair.feature->next();
  masked.peer = 1;
  ASSERT_EQ(masked.kind, static_cast<uint16_t>(PsiKind::masked));
  std::copy_n(masked.payload.begin() + 12, 32, masked.payload.begin() + 44);
  EXPECT_ERROR(pair.label->receive(masked), ErrorCode::malformed, "twice");
}

TEST(Matching, RefusesAReplayedMessage) {
  PsiPair pair(numbered_ids(4), numbered_ids(4), psi_settings());
  ASSERT_OK(pair.run(3));
  EXPECT_ERROR(pair.feature->receive(pair.transcript[2].message), ErrorCode::malformed, "expected nothing");
}

TEST(Matching, RefusesMatchesOutOfRangeAndTwice) {
  const auto spoiled = [](void (*change)(Bytes&)) {
    PsiPair pair(numbered_ids(4), numbered_ids(4), psi_settings());
    EXPECT_OK(pair.run(5));
    Message matches = *pair.label->next();
    matches.peer = 0;
    change(matches.payload);
    return pair.feature->receive(matches);
  };
  EXPECT_ERROR(spoiled([](Bytes& bytes) { bytes[12] = 4; }), ErrorCode::malformed, "of 4 and 4");
  EXPECT_ERROR(spoiled([](Bytes& bytes) { std::copy_n(bytes.begin() + 12, 8, bytes.begin() + 20); }),
               ErrorCode::malformed, "twice");
  EXPECT_ERROR(
      spoiled([](Bytes& bytes) { std::swap_ranges(bytes.begin() + 12, bytes.begin() + 20, bytes.begin() + 20); }),
      ErrorCode::malformed, "do not ascend");
}

}  // namespace
}  // namespace coterie::test

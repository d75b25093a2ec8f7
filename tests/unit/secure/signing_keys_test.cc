#include "secure/identity/signing_keys.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

WallTime at(int64_t ms) { return wall_time_from_unix_ms(1'750'000'000'000 + ms); }

class SigningKeys : public testing::Test {
 protected:
  static std::unique_ptr<Signer> signer(uint8_t seed) {
    return std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, seed)));
  }
  const Bytes& key(size_t i) const { return signers_[i]->public_key(); }
  // Key `from` names `to`.
  KeyStatement statement(size_t from, size_t to, WallTime until = at(100)) const {
    const auto made = state_next_key(*signers_[from], key(to), until);
    EXPECT_OK(made);
    return *made;
  }

  std::vector<std::unique_ptr<Signer>> signers_ = [] {
    std::vector<std::unique_ptr<Signer>> signers;
    for (uint8_t i = 1; i <= 12; ++i) signers.push_back(signer(i));
    return signers;
  }();
  PinnedKeys pinned_{key(0)};
};

TEST_F(SigningKeys, ASuccessorIsPinnedBesideTheKeyThatNamesIt) {
  EXPECT_TRUE(follow_key_statements(pinned_, {statement(0, 1)}));
  EXPECT_EQ(pinned_.newest, key(1));
  const auto before = believed_keys(pinned_, at(100)), after = believed_keys(pinned_, at(101));
  ASSERT_EQ(before.size(), 2u);
  EXPECT_TRUE(std::ranges::equal(before[0], key(1)) && std::ranges::equal(before[1], key(0)));
  ASSERT_EQ(after.size(), 1u) << "the old one is over";
  EXPECT_TRUE(std::ranges::equal(after[0], key(1)));
  EXPECT_FALSE(follow_key_statements(pinned_, {statement(0, 1)})) << "is no news";
}

TEST_F(SigningKeys, WhoeverHasSleptFollowsOneByOne) {
  EXPECT_TRUE(follow_key_statements(pinned_, {statement(0, 1, at(-9)), statement(1, 2, at(-5)), statement(2, 3)}));
  EXPECT_EQ(pinned_.newest, key(3));
  EXPECT_EQ(believed_keys(pinned_, at(0)).size(), 2u) << "3, and 2 until its time is over";
  PinnedKeys late{key(2)};
  EXPECT_TRUE(follow_key_statements(late, {statement(0, 1), statement(1, 2), statement(2, 3)}));
  EXPECT_EQ(late.newest, key(3));
}

TEST_F(SigningKeys, OnlyTheNewestKeyNamesASuccessor) {
  const PinnedKeys before = pinned_;
  EXPECT_FALSE(follow_key_statements(pinned_, {statement(5, 6)})) << "a stranger's";
  KeyStatement forged = statement(5, 1);
  forged.before = key(0);
  EXPECT_FALSE(follow_key_statements(pinned_, {forged})) << "by a stranger, in the name of the pinned key";
  EXPECT_EQ(pinned_, before);
  ASSERT_TRUE(follow_key_statements(pinned_, {statement(0, 1)}));
  EXPECT_FALSE(follow_key_statements(pinned_, {statement(0, 7)})) << "by the old key, which somebody has stolen";
  EXPECT_FALSE(follow_key_statements(pinned_, {statement(1, 0)})) << "back to a key from before";
  EXPECT_EQ(pinned_.newest, key(1));
  PinnedKeys nobody;
  EXPECT_FALSE(follow_key_statements(nobody, {statement(0, 1)}));
  EXPECT_TRUE(believed_keys(nobody, at(0)).empty());
}

TEST_F(SigningKeys, AChangedStatementIsNone) {
  const std::pair<const char*, std::function<void(KeyStatement&)>> changes[] = {
      {"after", [&](KeyStatement& s) { s.after = key(2); }},
      {"until", [](KeyStatement& s) { s.before_until += Millis(1); }},
      {"signature", [](KeyStatement& s) { s.signature[9] ^= 1; }},
      {"no key", [](KeyStatement& s) { s.after.clear(); }}};
  for (const auto& [what, change] : changes) {
    KeyStatement changed = statement(0, 1);
    change(changed);
    EXPECT_FALSE(key_statement_is_valid(changed)) << what;
    EXPECT_FALSE(follow_key_statements(pinned_, {changed})) << what;
  }
}

TEST_F(SigningKeys, AKeyEndsThoseBeforeIt) {
  ASSERT_TRUE(follow_key_statements(pinned_, {statement(0, 1), statement(1, 2)}));
  const KeyStatement ended = *end_keys_before(*signers_[2], at(0));
  EXPECT_TRUE(key_statement_is_valid(ended));
  EXPECT_FALSE(follow_key_statements(pinned_, {*end_keys_before(*signers_[1], at(0))})) << "by a key from before";
  EXPECT_FALSE(follow_key_statements(pinned_, {*end_keys_before(*signers_[7], at(0))})) << "by a stranger";
  KeyStatement forged = ended;
  forged.signature[9] ^= 1;
  EXPECT_FALSE(follow_key_statements(pinned_, {forged}));
  EXPECT_EQ(believed_keys(pinned_, at(0)).size(), 3u);
  EXPECT_TRUE(follow_key_statements(pinned_, {ended}));
  EXPECT_EQ(pinned_, PinnedKeys{key(2)}) << "whatever was said of their time";
  EXPECT_FALSE(follow_key_statements(pinned_, {statement(0, 1), statement(1, 2), ended})) << "is no news";
  PinnedKeys late{key(0)};
  EXPECT_TRUE(follow_key_statements(late, {statement(0, 1), statement(1, 2), ended, statement(2, 3)}));
  EXPECT_EQ(late, (PinnedKeys{key(3), {{key(2), at(100)}}}));
}

// Nobody can make the end of a key's predecessors of its naming a successor, or the other way round.
TEST_F(SigningKeys, AnEndIsNoSuccession) {
  KeyStatement ended = *end_keys_before(*signers_[0], at(100));
  ended.after = key(1);
  EXPECT_FALSE(key_statement_is_valid(ended));
  KeyStatement named = statement(0, 1);
  named.after = key(0);
  EXPECT_FALSE(key_statement_is_valid(named));
}

TEST_F(SigningKeys, WhoeverEnrollsPinsWhatServersSignWith) {
  const std::vector<KeyStatement> statements = {statement(0, 1), statement(1, 2)};
  EXPECT_EQ(keys_to_pin(key(0), {}), PinnedKeys{key(0)});
  EXPECT_EQ(keys_to_pin(key(1), statements), (PinnedKeys{key(1), {{key(0), at(100)}}})) << "2 signs nothing yet";
  EXPECT_EQ(keys_to_pin(key(2), statements), (PinnedKeys{key(2), {{key(0), at(100)}, {key(1), at(100)}}}));
  std::vector<KeyStatement> ended = statements;
  ended.push_back(*end_keys_before(*signers_[2], at(0)));
  EXPECT_EQ(keys_to_pin(key(2), ended), PinnedKeys{key(2)});
  EXPECT_EQ(keys_to_pin(key(5), statements), PinnedKeys{key(5)}) << "a key that they do not know";
}

TEST_F(SigningKeys, ADeviceFollowsMoreSuccessionsThanItRemembers) {
  for (size_t i = 0; i + 1 < signers_.size(); ++i) EXPECT_TRUE(follow_key_statements(pinned_, {statement(i, i + 1)}));
  EXPECT_EQ(pinned_.newest, key(11));
  EXPECT_EQ(pinned_.retiring.size(), kRetiringKeysMax);
  EXPECT_EQ(pinned_.retiring.front().key, key(3));
}

TEST_F(SigningKeys, TextIsReadAsItIsWritten) {
  const std::vector<KeyStatement> statements = {statement(0, 1), statement(1, 2, at(0))};
  const std::string text = key_statements_text(statements);
  EXPECT_EQ(text.size(), 2 * (43 + 1 + 43 + 1 + 13 + 1 + 86) + 1) << "short enough for a header: " << text;
  const auto read = parse_key_statements(text);
  ASSERT_OK(read);
  EXPECT_EQ(*read, statements);
  EXPECT_EQ(parse_key_statements("")->size(), 0u);
  std::vector<KeyStatement> most(kKeyStatementsMax, statements[0]);
  EXPECT_EQ(parse_key_statements(key_statements_text(most))->size(), kKeyStatementsMax);
}

TEST_F(SigningKeys, TextOfAnythingElseIsMalformed) {
  const std::string good = key_statements_text({statement(0, 1)});
  const size_t until = good.find("1750");
  for (const std::string& bad :
       {std::string("x"), std::string("..."), good + ".", good + "A", good.substr(1), good.substr(0, good.size() - 2),
        "," + good, good.substr(0, until) + "-1" + good.substr(until + 13),
        good.substr(0, until) + good.substr(until + 13),
        good.substr(0, until) + "999999999999999999999" + good.substr(until + 13), std::string(2'049, 'A'),
        key_statements_text(std::vector<KeyStatement>(kKeyStatementsMax + 1, statement(0, 1)))}) {
    EXPECT_ERROR(parse_key_statements(bad), ErrorCode::malformed, "key statement: ") << bad;
  }
}

}  // namespace
}  // namespace coterie

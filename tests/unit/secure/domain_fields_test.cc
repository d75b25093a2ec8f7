#include "secure/crypto/domain_fields.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/throwing_asserts.h"

namespace coterie {
namespace {

TEST(DomainFields, AreLengthsAndBytes) {
  DomainFields fields("coterie/v1/x");
  fields.add(as_bytes("abc")).add(uint64_t{0x0102}).add("");
  EXPECT_EQ(to_hex(fields.view()),
            "0000000c" + to_hex(as_bytes("coterie/v1/x")) + "00000003616263" + "000000080000000000000102" + "00000000");
}

// Lists of up to three fields of a few letters and zeros, in three domains, one of which looks like another with a
// field.
TEST(DomainFields, OfDifferentListsAreDifferent) {
  const std::vector<std::string> words = {"", "a", "b", "aa", "ab", "ba", "bb", std::string(1, 0), std::string(4, 0)};
  std::set<std::string> seen;
  size_t lists = 0;
  const auto insert = [&](const DomainFields& fields) {
    seen.insert(to_hex(fields.view()));
    ++lists;
  };
  for (const char* domain : {"d", "da", "d/a"}) {
    insert(DomainFields(domain));
    for (const std::string& first : words) {
      insert(DomainFields(domain).add(first));
      for (const std::string& second : words) {
        insert(DomainFields(domain).add(first).add(second));
        for (const char* third : {"", "a", "ba"}) insert(DomainFields(domain).add(first).add(second).add(third));
      }
    }
  }
  EXPECT_EQ(seen.size(), lists);
}

TEST(DomainFields, HaveADomainThatCanBeRead) {
  const test::ThrowingAsserts throwing;
  for (const char* bad : {"", "two words", "tab\t", "\xc3\xa4"}) {
    EXPECT_THROW(DomainFields{bad}, AssertionFailure) << bad;
  }
}

}  // namespace
}  // namespace coterie

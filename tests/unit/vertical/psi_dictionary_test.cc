// A label party that has a list of all ids there could be: whom of it the feature party has, it learns of its own ids
// alone.
#include <set>

#include "tests/support/matchers.h"
#include "tests/unit/vertical/psi_pair.h"
#include "vertical/psi/blinding.h"
#include "vertical/psi/psi_wire.h"

namespace coterie::test {
namespace {

using vertical::Blinding;
using vertical::psi_element;
using vertical::PsiKind;

std::set<std::string> pieces(const std::vector<Passed>& transcript, PsiKind kind, size_t size) {
  constexpr size_t kSliceBytes = 12;
  std::set<std::string> all;
  for (const Passed& passed : transcript) {
    if (passed.from != 1 || passed.message.kind != static_cast<uint16_t>(kind)) continue;
    for (size_t at = kSliceBytes; at + size <= passed.message.payload.size(); at += size) {
      all.insert(to_hex(ByteView(passed.message.payload).subspan(at, size)));
    }
  }
  return all;
}

TEST(PsiDictionary, FindsNobodyWhoIsNotInBothTables) {
  // The dictionary has ids 0 to 199; the label party has the even ones, the feature party 100 to 199.
  std::vector<std::string> label_ids, feature_ids;
  for (int i = 0; i < 200; ++i) {
    if (i % 2 == 0) label_ids.push_back("person-" + std::to_string(i));
    if (i >= 100) feature_ids.push_back("person-" + std::to_string(i));
  }
  PsiPair pair(label_ids, feature_ids, psi_settings());
  ASSERT_OK(pair.run());
  EXPECT_EQ(pair.label->matched_rows().size(), 50u);
  const std::set<std::string> masked = pieces(pair.transcript, PsiKind::masked, 32);
  ASSERT_EQ(masked.size(), 100u);
  // What it can compute of an id: the element, and that under its own key, which is its seed's; and of what it was
  // sent, the same under its key.
  const Blinding own(psi_seed(1)), other(psi_seed(2));
  std::set<std::string> under_both;
  for (const Passed& passed : pair.transcript) {
    if (passed.from != 1 || passed.message.kind != static_cast<uint16_t>(PsiKind::masked)) continue;
    for (size_t at = 12; at + 32 <= passed.message.payload.size(); at += 32) {
      RistrettoElement element;
      std::copy_n(passed.message.payload.begin() + static_cast<ptrdiff_t>(at), 32, element.bytes.begin());
      under_both.insert(to_hex(own.blind(element)->view()));
    }
  }
  size_t found = 0, found_with_the_key = 0;
  for (int i = 0; i < 200; ++i) {
    const RistrettoElement plain = psi_element(psi_settings().salt, "person-" + std::to_string(i));
    for (const RistrettoElement& guess : {plain, *own.blind(plain)}) {
      found += masked.count(to_hex(guess.view())) + under_both.count(to_hex(guess.view()));
    }
    found_with_the_key += masked.count(to_hex(other.blind(plain)->view()));
  }
  EXPECT_EQ(found, 0u);
  EXPECT_EQ(found_with_the_key, 100u) << "the attack itself works: only the feature party's key is what it lacks";
}

}  // namespace
}  // namespace coterie::test

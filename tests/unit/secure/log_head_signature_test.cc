// The server's word on a population's log covers all that it says.
#include "secure/identity/log_head_signature.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

std::unique_ptr<Signer> signer(uint8_t seed) { return make_signer(KeyAlgorithm::ed25519, Bytes(32, seed)).value(); }

SignedLogHead head() {
  SignedLogHead head{Population("phones"), {7, {}}, {}};
  head.head.root.bytes.fill(0x3c);
  EXPECT_OK(sign_log_head(head, *signer(7)));
  return head;
}

TEST(LogHeadSignature, IsOfTheKeyThatMadeIt) {
  EXPECT_OK(verify_log_head(head(), {signer(7)->public_key()}));
  EXPECT_OK(verify_log_head(head(), {signer(8)->public_key(), {{signer(7)->public_key(), WallTime()}}}))
      << "by the key before, though its time is over";
  EXPECT_ERROR(verify_log_head(head(), {signer(8)->public_key()}), ErrorCode::refused, "not signed by the server");
  EXPECT_ERROR(verify_log_head(head(), {}), ErrorCode::refused, "not signed by the server");
  EXPECT_EQ(head(), head()) << "the same head has the same bytes, on whichever server of a fleet";
}

TEST(LogHeadSignature, CoversPopulationSizeAndRoot) {
  const PinnedKeys key{signer(7)->public_key()};
  SignedLogHead other = head();
  other.population = Population("phone");
  EXPECT_FALSE(verify_log_head(other, key));
  other = head();
  ++other.head.size;
  EXPECT_FALSE(verify_log_head(other, key));
  other = head();
  other.head.root.bytes[31] ^= 1;
  EXPECT_FALSE(verify_log_head(other, key));
  other = head();
  other.signature.pop_back();
  EXPECT_FALSE(verify_log_head(other, key));
}

}  // namespace
}  // namespace coterie

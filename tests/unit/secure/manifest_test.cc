#include "secure/identity/manifest.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

const WallTime kNow = wall_time_from_unix_ms(1'750'000'000'000);

Digest filled(uint8_t value) {
  Digest digest;
  digest.bytes.fill(value);
  return digest;
}

Assignment unsigned_assignment() {
  return {.job = JobId("j7k2q"),
          .round = {RoundId(41), Attempt(2)},
          .model_version = ModelVersion(40),
          .plan = filled(0xaa),
          .model = filled(0xbb),
          .plan_bytes = 312,
          .model_bytes = 1'234'624,
          .not_after = wall_time_from_unix_ms(1'750'000'000'000),
          .ticket = Bytes(69, 1),
          .signature = {}};
}

class Manifest : public testing::Test {
 protected:
  std::unique_ptr<Signer> signer_ = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 0x44)));
  Assignment assignment_ = [this] {
    Assignment assignment = unsigned_assignment();
    EXPECT_OK(sign_manifest(assignment, *signer_));
    return assignment;
  }();
};

TEST_F(Manifest, IsExactlyTheTextThatIsDocumented) {
  EXPECT_EQ(manifest_text(unsigned_assignment()),
            "coterie-manifest-1\nj7k2q\n41\n2\n40\n"
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n312\n"
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n1234624\n1750000000000");
}

TEST_F(Manifest, IsBelievedWithThePinnedKeyAlone) {
  EXPECT_OK(verify_manifest(assignment_, {signer_->public_key()}, kNow));
  const auto other = make_signer(KeyAlgorithm::ed25519, Bytes(32, 0x45));
  EXPECT_ERROR(verify_manifest(assignment_, {(*other)->public_key()}, kNow), ErrorCode::refused,
               "not signed by the server");
  EXPECT_ERROR(verify_manifest(assignment_, {}, kNow), ErrorCode::refused, "not signed by the server");
}

TEST_F(Manifest, IsRefusedIfAnyFieldIsChanged) {
  const std::pair<const char*, std::function<void(Assignment&)>> changes[] = {
      {"job", [](Assignment& a) { a.job = JobId("j7k2r"); }},
      {"round", [](Assignment& a) { a.round.round = RoundId(42); }},
      {"attempt", [](Assignment& a) { a.round.attempt = Attempt(3); }},
      {"round and attempt swapped",
       [](Assignment& a) {
         a.round = {RoundId(2), Attempt(41)};
       }},
      {"model_version", [](Assignment& a) { a.model_version = ModelVersion(39); }},
      {"plan", [](Assignment& a) { a.plan.bytes[0] ^= 1; }},
      {"plan_bytes", [](Assignment& a) { ++a.plan_bytes; }},
      {"model", [](Assignment& a) { a.model.bytes[31] ^= 0x80; }},
      {"plan and model swapped", [](Assignment& a) { std::swap(a.plan, a.model); }},
      {"model_bytes", [](Assignment& a) { --a.model_bytes; }},
      {"not_after", [](Assignment& a) { a.not_after += Millis(1); }},
      {"signature", [](Assignment& a) { a.signature[5] ^= 4; }},
      {"no signature", [](Assignment& a) { a.signature.clear(); }}};
  for (const auto& [what, change] : changes) {
    Assignment changed = assignment_;
    change(changed);
    EXPECT_ERROR(verify_manifest(changed, {signer_->public_key()}, kNow), ErrorCode::refused, "not signed") << what;
  }
}

TEST_F(Manifest, LeavesTheTicketOutBecauseItDiffersByDevice) {
  Assignment mine = assignment_;
  mine.ticket = Bytes(69, 2);
  EXPECT_OK(verify_manifest(mine, {signer_->public_key()}, kNow));
}

}  // namespace
}  // namespace coterie

#include "secure/identity/request_signature.h"

#include <gtest/gtest.h>

#include <functional>

#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

const WallTime kNow = wall_time_from_unix_ms(1'750'000'000'000);
constexpr Millis kSkew{300'000};

Digest digest() {
  Digest digest;
  digest.bytes.fill(0xab);
  return digest;
}

DeviceId device() {
  DeviceId id;
  id.bytes.fill(0x0d);
  return id;
}

Nonce nonce() {
  Nonce nonce;
  nonce.fill(0x7f);
  return nonce;
}

SignedRequest request() { return {"POST", "/v1/checkins?x=1", 312, digest()}; }

TEST(RequestSignature, SignsExactlyTheTextThatIsDocumented) {
  EXPECT_EQ(request_signature_text(request(), device(), kNow, nonce()),
            "coterie-request-1\n"
            "POST\n"
            "/v1/checkins?x=1\n"
            "312\n"
            "abababababababababababababababababababababababababababababababab\n"
            "0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d\n"
            "1750000000000\n"
            "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f");
  EXPECT_EQ(request_signature_text({"GET", "/v1/plans/00", 0, std::nullopt}, device(), kNow, nonce()),
            "coterie-request-1\nGET\n/v1/plans/00\n0\n-\n0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d\n1750000000000\n"
            "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f");
}

TEST(EnrollmentProof, SignsExactlyTheTextThatIsDocumented) {
  EXPECT_EQ(enrollment_proof_text("cot_abc", Bytes{1, 2, 255}), "coterie-enroll-1\ncot_abc\n0102ff");
}

class RequestSignatureBy : public testing::TestWithParam<KeyAlgorithm> {
 protected:
  std::unique_ptr<Signer> signer_ = std::move(*make_signer(GetParam(), Bytes(32, 0x33)));
  RequestClaims claims_ = *sign_request(request(), device(), kNow, nonce(), *signer_);

  Status verify(const SignedRequest& seen, const RequestClaims& claims, WallTime now = kNow) const {
    COT_TRY(check_request_time(claims, now, kSkew));
    return verify_request(seen, claims, GetParam(), signer_->public_key());
  }
};
INSTANTIATE_TEST_SUITE_P(Algorithm, RequestSignatureBy, testing::Values(KeyAlgorithm::ed25519, KeyAlgorithm::p256),
                         [](const auto& parameter) {
                           return parameter.param == KeyAlgorithm::p256 ? "P256" : "Ed25519";
                         });

TEST_P(RequestSignatureBy, IsValidForTheRequestThatWasSigned) {
  EXPECT_EQ(claims_.device, device());
  EXPECT_EQ(claims_.time, kNow);
  EXPECT_EQ(claims_.nonce, nonce());
  EXPECT_OK(verify(request(), claims_));
}

TEST_P(RequestSignatureBy, IsRefusedForAnyOtherRequest) {
  const auto changed = [](const std::function<void(SignedRequest&)>& change) {
    SignedRequest other = request();
    change(other);
    return other;
  };
  Digest other_digest = digest();
  other_digest.bytes[31] ^= 1;
  const std::pair<const char*, SignedRequest> others[] = {
      {"method", changed([](SignedRequest& r) { r.method = "PUT"; })},
      {"target", changed([](SignedRequest& r) { r.target = "/v1/checkins?x=2"; })},
      {"query", changed([](SignedRequest& r) { r.target = "/v1/checkins"; })},
      {"length", changed([](SignedRequest& r) { r.content_length = 313; })},
      {"digest", changed([&](SignedRequest& r) { r.digest = other_digest; })},
      {"no digest", changed([](SignedRequest& r) { r.digest.reset(); })},
      {"a line moved", changed([](SignedRequest& r) {
         r.method = "POST\n/v1/checkins?x=1";
         r.target = "312";
       })},
  };
  for (const auto& [what, other] : others) {
    EXPECT_ERROR(verify(other, claims_), ErrorCode::unauthenticated, "does not match its device key") << what;
  }
}

TEST_P(RequestSignatureBy, IsRefusedForOtherClaims) {
  RequestClaims claims = claims_;
  claims.device.bytes[0] ^= 1;
  EXPECT_ERROR(verify(request(), claims), ErrorCode::unauthenticated, "does not match") << "device";
  claims = claims_;
  claims.time += Millis(1);
  EXPECT_ERROR(verify(request(), claims), ErrorCode::unauthenticated, "does not match") << "time";
  claims = claims_;
  claims.nonce[15] ^= 1;
  EXPECT_ERROR(verify(request(), claims), ErrorCode::unauthenticated, "does not match") << "nonce";
  claims = claims_;
  claims.signature.clear();
  EXPECT_ERROR(verify(request(), claims), ErrorCode::unauthenticated, "does not match") << "no signature";
  const auto other = make_signer(GetParam(), Bytes(32, 0x34));
  EXPECT_ERROR(verify_request(request(), claims_, GetParam(), (*other)->public_key()), ErrorCode::unauthenticated,
               "does not match")
      << "another device's key";
}

TEST_P(RequestSignatureBy, ToleratesAClockThatIsWrongByTheSkewEitherWayAndNoMore) {
  for (const Millis skew : {kSkew, -kSkew, Millis(0)}) EXPECT_OK(verify(request(), claims_, kNow + skew));
  for (const Millis skew : {kSkew + Millis(1), -kSkew - Millis(1)}) {
    EXPECT_ERROR(verify(request(), claims_, kNow + skew), ErrorCode::unauthenticated,
                 "differs from the server's by 300001 ms, at most 300000 ms");
  }
}

// Claims come from strangers: times at the ends of int64 must be an answer, not an overflow.
TEST_P(RequestSignatureBy, RefusesAbsurdTimesWithoutOverflowing) {
  for (const int64_t time : {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    RequestClaims claims = claims_;
    claims.time = wall_time_from_unix_ms(time);
    EXPECT_ERROR(verify(request(), claims), ErrorCode::unauthenticated, "set the clock") << time;
  }
}

}  // namespace
}  // namespace coterie

#include "secure/identity/android_key_judge.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "secure/crypto/signature.h"
#include "secure/identity/certificate_request.h"
#include "secure/identity/signed_seconds.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/android_chain.h"

namespace coterie::test {
namespace {

class AndroidKeyAttestation : public testing::Test {
 protected:
  Status judge() {
    const AndroidChain chain = make_android_chain(options());
    return judge(chain, policy_for(chain));
  }
  ChainOptions options() const {
    ChainOptions options = options_;
    options.now = now_;
    options.extension = der_of(text_);
    return options;
  }
  AndroidKeyPolicy policy_for(const AndroidChain& chain) const {
    AndroidKeyPolicy policy = policy_;
    policy.roots_pem = chain.root_pem;
    return policy;
  }
  CertificateRequest request(const AndroidChain& chain) const {
    return {.identity = {KeyAlgorithm::p256, chain.public_key, {}},
            .population = Population("phones"),
            .attestation = {.format = AttestationFormat::android_key, .nonce = Bytes(32, 9), .blob = chain.chain}};
  }
  Status judge(const AndroidChain& chain, const AndroidKeyPolicy& policy) const {
    return AndroidKeyJudge(policy).judge(request(chain), now_);
  }
  void expect_denied(const std::string& words) {
    EXPECT_ERROR(judge(), ErrorCode::permission_denied, words);
    text_ = {};
    options_ = {};
    policy_ = {};
  }

  const WallTime now_ = time_of_seconds(1'800'000'000);
  DescriptionText text_;
  ChainOptions options_;
  AndroidKeyPolicy policy_;
};

TEST_F(AndroidKeyAttestation, OfAKeyInTheHardwareOfAWholeDeviceIsTaken) {
  EXPECT_OK(judge());
  text_.attestation_level = text_.key_level = 2;
  policy_.level_min = AndroidSecurityLevel::strong_box;
  policy_.packages = {"org.example.other", "org.example.app"};
  policy_.signature_digests = {Bytes(32, 3)};
  EXPECT_OK(judge());
}

TEST_F(AndroidKeyAttestation, IsToTheNonceAndAboutTheRequestsKey) {
  text_.challenge = Bytes(32, 8);
  expect_denied("its challenge is not the nonce");
  text_.challenge = Bytes(31, 9);
  expect_denied("its challenge is not the nonce");
  const AndroidChain chain = make_android_chain(options()), other = make_android_chain(options());
  CertificateRequest swapped = request(chain);
  swapped.identity.public_key = other.public_key;
  EXPECT_ERROR(AndroidKeyJudge(policy_for(chain)).judge(swapped, now_), ErrorCode::permission_denied,
               "it is of another key");
  swapped.identity.key_algorithm = KeyAlgorithm::ed25519;
  EXPECT_ERROR(AndroidKeyJudge(policy_for(chain)).judge(swapped, now_), ErrorCode::permission_denied,
               "must be of P-256");
}

TEST_F(AndroidKeyAttestation, OfAKeyThatIsNotInHardwareIsDenied) {
  text_.attestation_level = 0;
  expect_denied("it is of security level software");
  text_.key_level = 0;
  expect_denied("it is of security level software");
  policy_.level_min = AndroidSecurityLevel::software;  // no policy goes below
  text_.key_level = 0;
  expect_denied("it is of security level software");
  policy_.level_min = AndroidSecurityLevel::strong_box;
  expect_denied("it is of security level trusted environment, at least StrongBox");
  text_.origin = 2;  // imported
  expect_denied("made the key itself");
  text_.origin.reset();
  expect_denied("made the key itself");
}

TEST_F(AndroidKeyAttestation, OfADeviceWithOtherSoftwareIsDenied) {
  text_.is_locked = false;
  expect_denied("the device is locked");
  for (uint8_t state = 1; state <= 3; ++state) {
    text_.boot_state = state;
    expect_denied("its maker has not signed");
  }
  text_.has_root_of_trust = false;
  expect_denied("the device is locked");
  text_.hardware_says_in_software = true;  // which could say anything
  expect_denied("made the key itself");
  text_.boot_state = 2;
  policy_.needs_verified_boot = false;
  EXPECT_OK(judge());
}

TEST_F(AndroidKeyAttestation, OfAnotherAppIsDenied) {
  policy_.packages = {"org.example.other"};
  expect_denied("it is of another app");
  policy_.packages = {"org.example.app"};
  text_.packages = {"org.example.app", "org.evil"};
  expect_denied("it is of another app");
  policy_.packages = {"org.example.app"};
  text_.packages = {};
  expect_denied("it is of another app");
  policy_.signature_digests = {Bytes(32, 4)};
  expect_denied("signed by somebody else");
}

TEST_F(AndroidKeyAttestation, HasAChainToARootThatIsGood) {
  const AndroidChain chain = make_android_chain(options()), other = make_android_chain(options());
  EXPECT_ERROR(judge(chain, policy_for(other)), ErrorCode::permission_denied, "certificate signature failure");
  AndroidKeyPolicy policy = policy_for(chain);
  policy.revoked_serials = {"12", chain.issuer_serial};
  EXPECT_ERROR(judge(chain, policy), ErrorCode::permission_denied, "serial abcdef is revoked");
  policy.roots_pem = "no PEM";
  EXPECT_ERROR(judge(chain, policy), ErrorCode::invalid_argument, "no certificate in PEM");
  options_.has_ended = true;
  expect_denied("certificate has expired");
  options_.is_signed_with_sha1 = true;
  expect_denied("too weak");
  options_.issuer_is_authority = false;
  expect_denied("chain of certificates: ");
  options_.extension_in_issuer = true;
  expect_denied("is in a certificate of an issuer");
  options_.extension_twice = true;
  expect_denied("chain of certificates: ");
  options_.has_extension = false;
  expect_denied("has no extension 1.3.6.1.4.1.11129.2.1.17");
  options_.key_is_rsa = true;
  expect_denied("key is not of P-256");
}

TEST_F(AndroidKeyAttestation, ABlobThatIsNoChainIsMalformed) {
  AndroidChain chain = make_android_chain(options());
  const AndroidKeyPolicy policy = policy_for(chain);
  const Bytes good = chain.chain;
  chain.chain = {1, 2, 3};
  EXPECT_ERROR(judge(chain, policy), ErrorCode::malformed, "certificate 1 is none");
  chain.chain = good;
  chain.chain.pop_back();
  EXPECT_ERROR(judge(chain, policy), ErrorCode::malformed, "certificate 3 is none");
  chain.chain = good;
  for (int i = 0; i < 3; ++i) chain.chain = chain.chain + good;
  EXPECT_ERROR(judge(chain, policy), ErrorCode::malformed, "more than 8 certificates");
}

// Whatever is changed on the way: the signatures are over all of it.
TEST_F(AndroidKeyAttestation, NoMutationOfAChainIsTaken) {
  const AndroidChain chain = make_android_chain(options());
  const AndroidKeyPolicy policy = policy_for(chain);
  const size_t signed_bytes = chain.chain.size() * 2 / 3;  // the last is the root, which the judge has itself
  Prng prng(7);
  for (int i = 0; i < 300; ++i) {
    AndroidChain changed = chain;
    changed.chain[prng.below(signed_bytes)] ^= static_cast<uint8_t>(1u << prng.below(8));
    EXPECT_FALSE(judge(changed, policy)) << "mutation " << i;
  }
}

// The reader alone, without signatures before it: it never reads outside, and takes nothing that is cut.
TEST_F(AndroidKeyAttestation, MutatedDescriptionsAreReadWithoutHarm) {
  const Bytes good = der_of(text_);
  ASSERT_OK(read_android_key_description(good));
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(read_android_key_description(ByteView(good).first(i))) << "cut to " << i;
    for (const int byte : {0x00, 0x7f, 0x80, 0x81, 0x84, 0xff}) {
      Bytes changed = good;
      changed[i] = static_cast<uint8_t>(byte);
      (void)read_android_key_description(changed);
    }
  }
  EXPECT_FALSE(read_android_key_description(good + Bytes{0}));
  EXPECT_ERROR(read_android_key_description(Bytes(kAndroidDescriptionBytesMax + 1)), ErrorCode::too_large, "are read");
}

TEST_F(AndroidKeyAttestation, ADescriptionSaysWhatWasWritten) {
  text_.packages = {"a", "b"};
  const auto read = read_android_key_description(der_of(text_));
  ASSERT_OK(read);
  EXPECT_EQ(read->version, 4u);
  EXPECT_EQ(read->attestation_level, AndroidSecurityLevel::trusted_environment);
  EXPECT_EQ(read->challenge, Bytes(32, 9));
  EXPECT_EQ(read->origin, 0u);
  ASSERT_TRUE(read->root_of_trust);
  EXPECT_TRUE(read->root_of_trust->is_locked);
  EXPECT_EQ(read->root_of_trust->boot_state, AndroidBootState::verified);
  EXPECT_EQ(read->packages, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read->signature_digests, std::vector<Bytes>{Bytes(32, 3)});
  text_.packages.assign(kAndroidPackagesMax + 1, "a");
  EXPECT_ERROR(read_android_key_description(der_of(text_)), ErrorCode::malformed, "more than 16 packages");
}

}  // namespace
}  // namespace coterie::test

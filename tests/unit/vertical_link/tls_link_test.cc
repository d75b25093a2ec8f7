#include "vertical/link/tls_link.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "secure/crypto/dev_ca.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie::vertical {
namespace {

class TlsLink : public ::testing::Test {
 protected:
  using Connected = Result<std::unique_ptr<ByteStream>>;

  // Files of a party called `name` that expects `peer`, by the authority `ca`.
  TlsIdentity identity(const PemPair& ca, const std::string& name, const std::string& peer) {
    const auto write = [this](const std::string& file, const std::string& text) {
      EXPECT_TRUE(os::write_file_atomically(directory_ / file, as_bytes(text)));
      return directory_ / file;
    };
    const PemPair pair = *make_peer_certificate(ca, {name}, os::wall_now(), 1);
    const std::string tag = name + std::to_string(++files_);
    return {.ca_file = write(tag + ".ca", ca.certificate),
            .certificate_file = write(tag + ".pem", pair.certificate),
            .key_file = write(tag + ".key", pair.private_key),
            .peer_name = peer};
  }

  // Label and feature party meet, each in a thread. The one who is let down sees the end of the connection.
  void meet(const TlsIdentity& label, const TlsIdentity& feature) {
    Result<PartyListener> listener = PartyListener::open("127.0.0.1", 0);
    ASSERT_OK(listener);
    std::thread other([&] {
      Connected stream = dial_party("127.0.0.1", listener->port(), feature, {});
      feature_ = stream ? (*stream)->write_all(as_bytes("hello")) : Status(stream.error());
      std::array<uint8_t, 2> answer;
      if (feature_) feature_ = (*stream)->read_exact(answer);
    });
    Connected stream = listener->accept(label, {});
    label_ = stream ? Status() : Status(stream.error());
    if (stream) {
      std::array<uint8_t, 5> heard;
      label_ = (*stream)->read_exact(heard);
      if (label_) label_ = (*stream)->write_all(as_bytes("ok"));
    }
    stream = Error(ErrorCode::cancelled, "closed");
    other.join();
  }

  coterie::test::TemporaryDirectory directory_{coterie::test::memory_disk()};
  PemPair ca_ = *make_dev_ca(os::wall_now(), 1);
  int files_ = 0;
  Status label_, feature_;
};

TEST_F(TlsLink, LetsTheNamedPeerIn) {
  meet(identity(ca_, "label-party", "feature-party"), identity(ca_, "feature-party", "label-party"));
  EXPECT_OK(label_);
  EXPECT_OK(feature_);
}

TEST_F(TlsLink, RefusesAnotherNameAtEitherSide) {
  meet(identity(ca_, "label-party", "feature-party"), identity(ca_, "somebody", "label-party"));
  EXPECT_ERROR(label_, ErrorCode::unauthenticated, "feature-party");
  EXPECT_FALSE(feature_);
  meet(identity(ca_, "somebody", "feature-party"), identity(ca_, "feature-party", "label-party"));
  EXPECT_ERROR(feature_, ErrorCode::unauthenticated, "label-party");
  EXPECT_FALSE(label_);
}

TEST_F(TlsLink, RefusesAnotherAuthority) {
  const PemPair other = *make_dev_ca(os::wall_now(), 1);
  TlsIdentity stranger = identity(other, "feature-party", "label-party");
  stranger.ca_file = identity(ca_, "x", "y").ca_file;  // it trusts us; we do not trust it
  meet(identity(ca_, "label-party", "feature-party"), stranger);
  EXPECT_ERROR(label_, ErrorCode::unauthenticated, "feature-party");
  EXPECT_FALSE(feature_);
}

TEST_F(TlsLink, DoesNotWaitForeverForAPeer) {
  const Result<PartyListener> listener = PartyListener::open("127.0.0.1", 0);
  ASSERT_OK(listener);
  EXPECT_ERROR(listener->accept(identity(ca_, "label-party", "feature-party"), {.time = Millis(1)}),
               ErrorCode::timed_out, "1 ms");
}

}  // namespace
}  // namespace coterie::vertical

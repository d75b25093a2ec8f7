// A device whose clock is wrong: it learns the time from the server whose key it has pinned, and from nobody else.
#include <gtest/gtest.h>

#include "base/os/clock.h"
#include "device_sdk/agent/device_api.h"
#include "proto/codec/codec.h"
#include "secure/identity/server_time.h"
#include "secure/identity/signing_keys.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

using namespace std::chrono_literals;

// Refuses what was not signed within a minute of its own time, and says what that is.
class PunctualServer : public Transport {
 public:
  Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) override {
    ++requests;
    ahead += goes_on;
    const auto value_of = [&](std::string_view name) {
      const auto found = std::ranges::find(request.headers, name, [](const auto& header) { return header.first; });
      return found == request.headers.end() ? std::string() : found->second;
    };
    signed_at = value_of("Coterie-Time");
    const WallTime now = os::wall_now() + ahead, theirs = wall_time_from_unix_ms(std::stoll(value_of("Coterie-Time")));
    TransportResponse head;
    if (std::chrono::abs(now - theirs) < 60s) {
      head.status = 200;
      COT_TRY(sink(head, encode(RetryWindow{1, 2, {}})));
      return head;
    }
    head.status = 401;
    Nonce nonce;
    const Bytes said_nonce = *from_hex(value_of("Coterie-Nonce"));
    std::copy(said_nonce.begin(), said_nonce.end(), nonce.begin());
    if (replays) nonce = {};
    if (!key_statements.empty()) head.headers.emplace_back("coterie-keys", key_statements);
    head.headers.emplace_back("coterie-time", std::to_string(unix_ms(now) + shift_ms));
    head.headers.emplace_back("coterie-signature", to_base64url(*sign_server_time(now, nonce, *signer)));
    return head;
  }

  Millis ahead{0};
  bool replays = false;  // an answer to another request
  int64_t shift_ms = 0;  // said beside what was signed
  Millis goes_on{0};     // its clock is set so much further with each request
  std::string key_statements;
  int requests = 0;
  std::string signed_at;  // the last one
  std::unique_ptr<Signer> signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 1)));
};

class ServerTime : public testing::Test {
 protected:
  ServerTime() { api_.trust({server_.signer->public_key()}); }
  bool is_answered() {
    return std::holds_alternative<RetryWindow>(api_.check_in(DeviceId(), {Population("default"), "test", 0}));
  }

  PunctualServer server_;
  std::unique_ptr<Signer> signer_ = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 2)));
  DeviceApi api_{server_, *signer_};
};

TEST_F(ServerTime, IsLearnedFromARefusalAndKept) {
  for (const Millis ahead : {Millis(1h), Millis(-24h), Millis(8'760h)}) {
    server_.ahead = ahead;
    server_.requests = 0;
    EXPECT_TRUE(is_answered());
    EXPECT_EQ(server_.requests, 2);
    EXPECT_NEAR(api_.server_ahead().count(), ahead.count(), 10'000);
    EXPECT_TRUE(is_answered());
    EXPECT_EQ(server_.requests, 3) << "known now";
  }
}

// As servers take a device's check-ins in the order in which they were signed.
TEST_F(ServerTime, NeverPutsACheckInBeforeOneThatWasAnswered) {
  api_.set_server_ahead(Millis(50'000));
  EXPECT_TRUE(is_answered());
  const int64_t first = std::stoll(server_.signed_at);
  api_.set_server_ahead(Millis(0));  // it was put right meanwhile
  EXPECT_TRUE(is_answered());
  EXPECT_EQ(std::stoll(server_.signed_at), first + 1);
  EXPECT_TRUE(is_answered());
  EXPECT_EQ(std::stoll(server_.signed_at), first + 2);
}

TEST_F(ServerTime, OfAServerWhoseClockWasFarAheadHoldsNoCheckInUp) {
  server_.ahead = Millis(24h);
  EXPECT_TRUE(is_answered());
  server_.ahead = Millis(0);
  server_.requests = 0;
  EXPECT_TRUE(is_answered());
  EXPECT_EQ(server_.requests, 2);
}

TEST_F(ServerTime, IsBelievedOfTheKeyThatThePinnedOneHasNamed) {
  server_.ahead = Millis(1h);
  const std::unique_ptr<Signer> pinned = std::move(server_.signer);
  server_.signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 3)));
  const auto stated = state_next_key(*pinned, server_.signer->public_key(), os::wall_now() + Millis(24h));
  ASSERT_OK(stated);
  server_.key_statements = key_statements_text({*stated});
  EXPECT_TRUE(is_answered()) << "in one exchange: the statement comes with what it is needed for";
  EXPECT_EQ(server_.requests, 2);
  EXPECT_EQ(api_.take_key_statements(), std::vector<KeyStatement>{*stated});
  EXPECT_TRUE(api_.take_key_statements().empty());
  server_.ahead = Millis(-24h);
  EXPECT_TRUE(is_answered());
  EXPECT_TRUE(api_.take_key_statements().empty()) << "no news";
}

TEST_F(ServerTime, IsNotBelievedOfAKeyThatAStrangerHasNamed) {
  server_.ahead = Millis(1h);
  server_.signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 3)));
  const auto stated = state_next_key(*server_.signer, signer_->public_key(), os::wall_now() + Millis(24h));
  ASSERT_OK(stated);
  for (const std::string& said : {key_statements_text({*stated}), std::string("nonsense"), std::string(9'999, 'A')}) {
    server_.key_statements = said;
    EXPECT_FALSE(is_answered());
    EXPECT_TRUE(api_.take_key_statements().empty());
  }
  EXPECT_EQ(api_.server_ahead(), Millis(0));
}

TEST_F(ServerTime, IsBelievedOfThePinnedKeyAlone) {
  server_.ahead = Millis(1h);
  server_.signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 3)));
  EXPECT_FALSE(is_answered());
  EXPECT_EQ(server_.requests, 1);
  EXPECT_EQ(api_.server_ahead(), Millis(0));
}

TEST_F(ServerTime, OfAnotherRequestOrChangedOnTheWayIsNotBelieved) {
  server_.ahead = Millis(1h);
  server_.replays = true;
  EXPECT_FALSE(is_answered());
  server_.replays = false;
  server_.shift_ms = 1;
  EXPECT_FALSE(is_answered());
  EXPECT_EQ(api_.server_ahead(), Millis(0));
}

TEST_F(ServerTime, ThatDoesNotHelpIsAskedForOnce) {
  server_.ahead = Millis(1h);
  server_.goes_on = Millis(2h);
  EXPECT_FALSE(is_answered());
  EXPECT_EQ(server_.requests, 2);
}

TEST_F(ServerTime, BeyondTheYear9999IsNone) {
  server_.ahead = std::chrono::duration_cast<Millis>(std::chrono::years(9'000));
  EXPECT_FALSE(is_answered());
  EXPECT_EQ(api_.server_ahead(), Millis(0));
}

}  // namespace
}  // namespace coterie::test

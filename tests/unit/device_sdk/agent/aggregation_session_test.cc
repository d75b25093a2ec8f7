// AggregationSession without an agent around it: cohorts so large that devices draw their holders, and
// hostile answers.
#include "device_sdk/agent/aggregation_session.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/late_update.h"
#include "proto/codec/codec.h"
#include "proto/codec/secagg_codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/secagg/fault.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/agent/secagg_plane.h"

namespace coterie::test {
namespace {

#ifdef COT_NIGHTLY
constexpr bool kIsNightly = true;
#else
constexpr bool kIsNightly = false;
#endif

class Sessions {
 public:
  Sessions(SecurityLevel level, uint32_t devices) : plane(level, Bytes(10, 1), devices), sum(17) {
    for (uint32_t who = 0; who < devices; ++who) {
      Device& device = devices_.emplace_back();
      Bytes secret(32, static_cast<uint8_t>(who));
      secret[1] = static_cast<uint8_t>(who >> 8);
      device.signer = std::move(*make_signer(KeyAlgorithm::ed25519, secret));
      device.api = std::make_unique<DeviceApi>(plane.transport(who), *device.signer);
      const std::string directory = directory_ / std::to_string(who);
      EXPECT_OK(os::make_directories(directory));
      std::vector<float> values(16);
      for (float& value : values) value = static_cast<float>(prng_.uniform(-1, 1));
      const UpdateHeader header{.round = plane.assignment().round,
                                .model = plane.assignment().model,
                                .value_count = 16,
                                .weight = who % 9 + 1};
      device.setup = {.device = {},
                      .assignment = plane.assignment_of(who),
                      .plan = plane.plan(),
                      .directory = directory,
                      .update_file = "update.cotf",
                      .signer = device.signer.get(),
                      .certificate = {},
                      .certificate_is_good = [](const DeviceIdentity&) { return Status(); }};
      EXPECT_OK(os::write_file_atomically(directory + "/update.cotf", encode_update(header, values)));
      EXPECT_OK(add_update(values, header.weight, plane.plan().update.fixed_point, std::span(sum).first(16)));
      sum[16] += header.weight;
    }
  }

  const AggregationSetup& setup(uint32_t who) const { return devices_[who].setup; }
  uint32_t size() const { return static_cast<uint32_t>(devices_.size()); }
  void open(uint32_t who) {
    auto opened = AggregationSession::open(devices_[who].setup);
    ASSERT_OK(opened);
    auto* session = std::get_if<std::unique_ptr<AggregationSession>>(&*opened);
    ASSERT_NE(session, nullptr) << std::get<Failure>(*opened).error.message();
    devices_[who].session = std::move(*session);
  }
  AggregationSession::Answered exchange(uint32_t who) {
    auto answered = devices_[who].session->exchange(*devices_[who].api);
    EXPECT_OK(answered);
    if (answered) was_left_out = answered->is_left_out;
    return answered ? std::move(answered->outcome) : AggregationSession::Answered(AggregationStep::done);
  }
  // Its update is late, and goes by this weight.
  void is_late(uint32_t who, float weight) { devices_[who].setup.weight = weight; }
  void has_masked(uint32_t who) { devices_[who].setup.has_masked = true; }
  // Exchanges until the server says "not yet", or it is done or failed.
  AggregationSession::Answered go(uint32_t who) {
    for (int i = 0; i < 20; ++i) {
      AggregationSession::Answered answered = exchange(who);
      const auto* step = std::get_if<AggregationStep>(&answered);
      if (step == nullptr || *step == AggregationStep::done) return answered;
    }
    return AggregationStep::went_on;
  }

  SecaggPlane plane;
  std::vector<uint64_t> sum;  // of all, the weight's lane behind
  bool was_left_out = false;  // as the last exchange said

 private:
  struct Device {
    std::unique_ptr<Signer> signer;
    std::unique_ptr<DeviceApi> api;
    AggregationSetup setup;
    std::unique_ptr<AggregationSession> session;
  };
  TemporaryDirectory directory_{memory_disk()};
  Prng prng_{1};
  std::vector<Device> devices_;
};

TEST(AggregationSession, OfALargeCohortDrawsItsHolders) {
  Sessions sessions(SecurityLevel::active, 256);
  for (uint32_t who = 0; who < sessions.size(); ++who) {
    sessions.open(who);
    sessions.go(who);
  }
  ASSERT_OK(sessions.plane.close());
  ASSERT_EQ(sessions.plane.server().phase(), secagg::Server::Phase::choosing);
  const auto go_on = [&](uint32_t devices) {
    for (uint32_t who = 0; who < devices; ++who) {
      if (who % 16 == 1) sessions.open(who);  // some apps are killed between the phases
      const auto answered = sessions.go(who);
      const auto* failure = std::get_if<Failure>(&answered);
      ASSERT_EQ(failure, nullptr) << failure->error.message();
    }
  };
  go_on(sessions.size());
  EXPECT_EQ(sessions.plane.calls(Exchange::choice), 256);
  ASSERT_OK(sessions.plane.close());
  if (!kIsNightly) {  // a few share: each has a hundred neighbours' adverts to check
    go_on(3);
    EXPECT_EQ(sessions.plane.calls(Exchange::shares), 3);
    EXPECT_EQ(sessions.plane.server().answered(), 3u);
    return;
  }
  while (!sessions.plane.is_over()) {
    go_on(sessions.size());
    ASSERT_OK(sessions.plane.close());
  }
  const auto sum = sessions.plane.sum();
  ASSERT_OK(sum);
  EXPECT_TRUE(*sum == sessions.sum);
}

TEST(AggregationSession, EndsWithTheFaultOfAServerThatLies) {
  Sessions sessions(SecurityLevel::active, 4);
  for (uint32_t who = 0; who < 4; ++who) {
    sessions.open(who);
    sessions.go(who);
  }
  ASSERT_OK(sessions.plane.close());
  sessions.plane.fail_next(0, Exchange::roster, [&](const auto&, const BodySink& sink) -> Result<TransportResponse> {
    RosterView view = sessions.plane.server().view(0);
    view.entries[1].advert.mask_key[0] ^= 1;
    TransportResponse head;
    head.status = 200;
    COT_TRY(sink(head, encode(view)));
    return head;
  });
  const auto answered = sessions.exchange(0);
  ASSERT_TRUE(std::holds_alternative<Failure>(answered));
  const Error& error = std::get<Failure>(answered).error;
  EXPECT_TRUE(secagg::fault_of(error)) << error.message();
  EXPECT_EQ(traits(error.code()).retry, RetryClass::never);
}

TEST(AggregationSession, CannotBeginWithoutAnUpdate) {
  Sessions sessions(SecurityLevel::masked, 2);
  AggregationSetup setup{.device = {},
                         .assignment = sessions.plane.assignment_of(0),
                         .plan = sessions.plane.plan(),
                         .directory = "/nonexistent",
                         .update_file = "update.cotf",
                         .signer = nullptr,
                         .certificate = {},
                         .certificate_is_good = [](const DeviceIdentity&) { return Status(); }};
  const std::unique_ptr<Signer> signer = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 9)));
  setup.signer = signer.get();
  const auto opened = AggregationSession::open(setup);
  ASSERT_OK(opened);
  ASSERT_TRUE(std::holds_alternative<Failure>(*opened));
  EXPECT_EQ(std::get<Failure>(*opened).error.code(), ErrorCode::ticket_expired);
}

// The sum is that of late updates as a device would send them without masks.
TEST(AggregationSession, TakesALateUpdateByItsWeight) {
  Sessions sessions(SecurityLevel::masked, 3);
  std::vector<uint64_t> expected(17);
  for (uint32_t who = 0; who < 3; ++who) {
    const float weight = 1.0f / static_cast<float>(1 + who);
    const Bytes stored = *os::read_file(sessions.setup(who).directory + "/update.cotf", 10'000);
    const Bytes late = *late_update(stored, sessions.plane.assignment().round, weight);
    const auto update = *decode_update(late);
    EXPECT_OK(add_update(payload_as<float>(update.payload), update.header.weight,
                         sessions.plane.plan().update.fixed_point, std::span(expected).first(16)));
    expected[16] += update.header.weight;
    if (who > 0) sessions.is_late(who, weight);
    sessions.open(who);
  }
  while (!sessions.plane.is_over()) {
    for (uint32_t who = 0; who < 3; ++who) {
      if (who == 1) sessions.open(who);  // killed between any two phases
      const auto answered = sessions.go(who);
      ASSERT_FALSE(std::holds_alternative<Failure>(answered)) << std::get<Failure>(answered).error.message();
    }
    ASSERT_OK(sessions.plane.close());
  }
  const auto sum = sessions.plane.sum();
  ASSERT_OK(sum);
  EXPECT_TRUE(*sum == expected) << "bit for bit";
}

// One mask behind two weights would show the update.
TEST(AggregationSession, OfAnotherWeightIsAnotherSession) {
  Sessions sessions(SecurityLevel::masked, 2);
  for (const float weight : {0.5f, 0.25f}) {
    sessions.is_late(0, weight);
    sessions.open(0);
    sessions.exchange(0);
  }
  const std::vector<Bytes>& adverts = sessions.plane.sent(0, Exchange::advert);
  ASSERT_EQ(adverts.size(), 2u);
  EXPECT_FALSE(adverts[0] == adverts[1]) << "with fresh keys";
}

TEST(AggregationSession, IsLeftForCertainBeforeItsUpdateCouldLeaveOrWhenTheServerSaysSo) {
  for (const Exchange exchange : kExchanges) {
    for (const ErrorCode code : {ErrorCode::round_closed, ErrorCode::ticket_expired, ErrorCode::unavailable}) {
      if (exchange == Exchange::confirm_request || exchange == Exchange::confirmation) continue;
      SCOPED_TRACE(std::string(traits(code).name) + " at " + std::to_string(static_cast<int>(exchange)));
      Sessions sessions(SecurityLevel::masked, 3);
      sessions.plane.fail_next(0, exchange, SecaggPlane::typed(code));
      std::optional<bool> left_out;
      for (uint32_t who = 0; who < 3; ++who) sessions.open(who);
      while (!sessions.plane.is_over() && !left_out) {
        for (uint32_t who = 0; who < 3 && !left_out; ++who) {
          const auto answered = sessions.go(who);
          if (std::holds_alternative<Failure>(answered)) left_out = sessions.was_left_out;
        }
        if (!left_out) ASSERT_OK(sessions.plane.close());
      }
      if (!left_out) {  // its part was done
        EXPECT_TRUE(code == ErrorCode::round_closed && exchange > Exchange::input);
        continue;
      }
      const bool is_certain = exchange < Exchange::input
                                  ? code != ErrorCode::unavailable
                                  : exchange == Exchange::input && code == ErrorCode::ticket_expired;
      EXPECT_EQ(*left_out, is_certain);
    }
  }
}

// The update may be in the sum: another session would count it twice.
TEST(AggregationSession, IsNoReasonToLeaveWhenItsLogIsGone) {
  for (const bool is_removed : {true, false}) {
    Sessions sessions(SecurityLevel::masked, 2);
    sessions.is_late(0, 0.5f);
    sessions.open(0);
    sessions.exchange(0);
    sessions.has_masked(0);
    if (is_removed) ASSERT_OK(os::remove_file(sessions.setup(0).directory + "/secagg.log"));
    else sessions.is_late(0, 0.49999997f);  // by another libm
    const auto opened = AggregationSession::open(sessions.setup(0));
    ASSERT_OK(opened);
    ASSERT_TRUE(std::holds_alternative<Failure>(*opened));
    EXPECT_EQ(std::get<Failure>(*opened).error.code(), ErrorCode::ticket_expired);
    EXPECT_EQ(sessions.plane.sent(0, Exchange::advert).size(), 1u);
  }
}

// A copy of the log from before its masked update left says nothing of what left.
TEST(AggregationSession, WithAnOlderLogIsNotLeftForCertain) {
  Sessions sessions(SecurityLevel::masked, 2);
  sessions.open(0);
  sessions.has_masked(0);
  sessions.open(0);
  sessions.plane.fail_next(0, Exchange::advert, SecaggPlane::typed(ErrorCode::conflict));
  EXPECT_TRUE(std::holds_alternative<Failure>(sessions.exchange(0)));
  EXPECT_FALSE(sessions.was_left_out);
}

TEST(AggregationSession, SaysBeforeItsMaskedUpdateLeavesThatItWill) {
  Sessions sessions(SecurityLevel::masked, 3);
  bool is_said = false;
  for (uint32_t who = 0; who < 3; ++who) sessions.open(who);
  while (sessions.plane.calls(Exchange::input) == 0) {
    for (uint32_t who = 0; who < 3; ++who) {
      for (int i = 0; i < 20; ++i) {
        const auto answered = sessions.exchange(who);
        const auto* step = std::get_if<AggregationStep>(&answered);
        if (step == nullptr) break;
        if (*step != AggregationStep::masks) continue;
        is_said = true;
        EXPECT_EQ(sessions.plane.calls(Exchange::input), who);
      }
    }
    EXPECT_EQ(is_said, sessions.plane.calls(Exchange::input) > 0);
    ASSERT_OK(sessions.plane.close());
  }
}

// Two updates under the same masks show their difference: a session belongs to one.
TEST(AggregationSession, OfAnotherUpdateIsAnotherSession) {
  Sessions sessions(SecurityLevel::masked, 2);
  sessions.open(0);
  sessions.exchange(0);
  sessions.open(0);
  EXPECT_TRUE(std::holds_alternative<RetryWindow>(sessions.exchange(0)));
  ASSERT_EQ(sessions.plane.sent(0, Exchange::advert).size(), 2u);
  EXPECT_TRUE(sessions.plane.sent(0, Exchange::advert)[0] == sessions.plane.sent(0, Exchange::advert)[1]);

  const std::string update = sessions.setup(0).directory + "/update.cotf";
  Bytes changed = *os::read_file(update, 10'000);
  changed.back() ^= 1;
  ASSERT_OK(os::write_file_atomically(update, changed));
  sessions.open(0);
  const auto answered = sessions.exchange(0);
  const std::vector<Bytes>& adverts = sessions.plane.sent(0, Exchange::advert);
  ASSERT_EQ(adverts.size(), 3u);
  EXPECT_FALSE(adverts[0] == adverts[2]) << "with fresh keys";
  ASSERT_TRUE(std::holds_alternative<Failure>(answered)) << "which the server does not take from the same device";
  EXPECT_EQ(std::get<Failure>(answered).error.code(), ErrorCode::conflict);
}

}  // namespace
}  // namespace coterie::test

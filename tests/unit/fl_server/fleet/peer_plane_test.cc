// The peer plane: a server's sessions as another server reaches them, over real TLS with certificates on both sides.
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "fl_server/fleet/peer_service.h"
#include "fl_server/fleet/remote_cohorts.h"
#include "fl_server/fleet/remote_events.h"
#include "fl_server/net/http_server.h"
#include "secure/crypto/dev_ca.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

const RoundKey kRound{RoundId(7), Attempt(2)};
constexpr Millis kPatience{20'000};

// Remembers what it was asked, and answers what it was told to.
class ScriptedOwner final : public CohortOwner {
 public:
  Status status;
  Result<CohortReply> reply = CohortReply(NotYet{40});
  std::string heard;

  void cohort_receive(const RoundKey& key, const DeviceId& device, Bytes public_key, CohortMessage message,
                      std::function<void(Status)> answer) override {
    heard = "receive " + name(key, device) + " key " + to_hex(public_key) + " kind " + std::to_string(message.index());
    answer(status);
  }
  void cohort_ask(const RoundKey& key, const DeviceId& device, CohortQuestion question, Millis hold,
                  std::function<void(Result<CohortReply>)> answer) override {
    heard = "ask " + name(key, device) + " " + std::to_string(static_cast<int>(question)) + " hold " +
            std::to_string(hold.count());
    answer(reply);
  }
  void cohort_input_arrived(const RoundKey& key, const DeviceId& device, MaskedInput input,
                            std::function<void(Status)> answer) override {
    heard = "input " + name(key, device) + " lanes " + std::to_string(input.lane_count);
    answer(status);
  }

 private:
  static std::string name(const RoundKey& key, const DeviceId& device) {
    return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value()) + " " + device.hex();
  }
};

class PeerPlane : public testing::Test {
 protected:
  void SetUp() override {
    ca_ = *make_dev_ca(os::wall_now(), 10);
    credentials_ = credentials_of(ca_, "peer");
    auto tls = make_peer_tls(credentials_.certificate_file, credentials_.key_file, credentials_.ca_file);
    ASSERT_OK(tls);
    service_.set_owning(true);
    auto port = http_.listen({"peer", "127.0.0.1", 0, {}}, *tls, service_);
    ASSERT_OK(port);
    http_.start();
    url_ = "https://127.0.0.1:" + std::to_string(*port);
    client_ = *PeerClient::start(credentials_);
    device_.bytes[3] = 0xab;
  }
  void TearDown() override {
    if (client_) client_->stop();
    http_.stop();
  }

  PeerCredentials credentials_of(const PemPair& ca, const std::string& name) {
    const PemPair leaf = *make_peer_certificate(ca, {"127.0.0.1"}, os::wall_now(), 5);
    PeerCredentials files{directory_ / (name + ".pem"), directory_ / (name + "-key.pem"),
                          directory_ / (name + "-ca.pem")};
    EXPECT_OK(os::write_file_atomically(files.certificate_file, as_bytes(leaf.certificate)));
    EXPECT_OK(os::write_file_atomically(files.key_file, as_bytes(leaf.private_key)));
    EXPECT_OK(os::write_file_atomically(files.ca_file, as_bytes(ca.certificate)));
    return files;
  }

  template <typename T>
  T wait(const std::function<void(std::function<void(T)>)>& begin) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> future = promise->get_future();
    begin([promise](T value) { promise->set_value(std::move(value)); });
    EXPECT_EQ(future.wait_for(kPatience), std::future_status::ready);
    return future.get();
  }
  Status send_input(RemoteCohorts& cohorts, const MaskedInput& input = {}) {
    return wait<Status>([&](auto done) { cohorts.cohort_input_arrived(kRound, device_, input, done); });
  }
  Result<CohortReply> ask(RemoteCohorts& cohorts, CohortQuestion question, Millis hold = Millis(100)) {
    return wait<Result<CohortReply>>([&](auto done) { cohorts.cohort_ask(kRound, device_, question, hold, done); });
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
  PemPair ca_;
  PeerCredentials credentials_;
  ScriptedOwner owner_;
  EventHub hub_{"00000000000000aa"};
  std::atomic<bool> has_job_{true};  // the scheduler of the one that leads
  PeerEvents events_{hub_, [this](const JobId&, const Population& population) -> std::optional<JobNow> {
                       if (!has_job_) return std::nullopt;
                       return JobNow{.round = {}, .waiting = population.value() == "p" ? 5u : 0u};
                     }};
  PeerService service_{owner_, &events_};
  Metrics metrics_{"test"};
  HttpServer http_{1, metrics_};
  std::string url_;
  std::unique_ptr<PeerClient> client_;
  DeviceId device_;
};

// What a node's connection does with a stream, on the test's thread.
class EventReading {
 public:
  explicit EventReading(EventSource& stream) : stream_(stream) {
    stream_.when_ready([this] {
      const std::lock_guard lock(mutex_);
      is_woken_ = true;
      woken_.notify_one();
    });
  }
  // The next piece; "the end" behind the last.
  std::string next() {
    for (;;) {
      const std::optional<std::string> text = stream_.next();
      if (!text) return "the end";
      if (!text->empty()) return *text;
      if (stream_.has_more()) continue;
      std::unique_lock lock(mutex_);
      if (!woken_.wait_for(lock, kPatience, [this] { return is_woken_; })) return "nothing came";
      is_woken_ = false;
    }
  }

 private:
  EventSource& stream_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
};

const JobId kJob("j1");
const OfJob kOfJob{.job = kJob, .population = Population("p")};
constexpr const char* kRoundNow = "event: round\ndata: {\"job\":\"j1\",\"waiting\":5}\n\n";

TEST_F(PeerPlane, PassesAJobsEventsOnAsTheyHappenUntilItIsOver) {
  RemoteEvents stream(*client_, url_, {.of = kOfJob});
  EventReading reading(stream);
  EXPECT_EQ(reading.next(), std::string("id: 00000000000000aa-0\n") + kRoundNow);
  for (uint64_t seq = 1; seq <= 3; ++seq) {
    hub_.add(kJob, event::RoundFrozen{{kRound, seq}});
    const std::string piece = reading.next();
    EXPECT_TRUE(piece.starts_with("id: 00000000000000aa-" + std::to_string(seq) + "\nevent: round_frozen\n")) << piece;
    EXPECT_EQ(piece.find("event:", piece.find("event:") + 1), std::string::npos) << "nothing is told twice: " << piece;
  }
  has_job_ = false;
  hub_.add(kJob, event::JobCompleted{3});
  const std::string end = reading.next();
  EXPECT_LT(end.find("event: job_completed\n"), end.find("event: over\n")) << end;
  EXPECT_EQ(reading.next(), "the end");
}

TEST_F(PeerPlane, TellsWhoReadAnotherLeadersEventsThatSomeWereMissed) {
  hub_.add(kJob, event::RoundFrozen{{kRound, 1}});
  RemoteEvents stream(*client_, url_, {.of = kOfJob, .read = EventId{"00000000000000bb", 9}});
  EXPECT_EQ(EventReading(stream).next(),
            std::string("id: 00000000000000aa-1\nevent: events_missed\ndata: {\"job\":\"j1\"}\n\n") +
                "id: 00000000000000aa-1\n" + kRoundNow);
}

TEST_F(PeerPlane, PassesATenantsEventsOnAndNobodyElses) {
  hub_.belongs_to(kJob, "acme");
  RemoteEvents of_acme(*client_, url_, {.of = OfTenant{"acme"}}), of_all(*client_, url_, {.of = OfTenant{"*"}});
  EventReading reading(of_acme), reading_all(of_all);
  EXPECT_EQ(reading.next(), "id: 00000000000000aa-0\nevent: begin\ndata: {}\n\n");
  EXPECT_EQ(reading_all.next(), "id: 00000000000000aa-0\nevent: begin\ndata: {}\n\n");
  hub_.add(JobId("others"), event::RoundFrozen{{kRound, 1}});
  hub_.add(kJob, event::RoundFrozen{{kRound, 2}});
  EXPECT_TRUE(reading.next().starts_with("id: 00000000000000aa-2\nevent: round_frozen\n"));
  EXPECT_TRUE(reading_all.next().starts_with("id: 00000000000000aa-1\nevent: round_frozen\n"));
  // The next question says where this reader stands.
  hub_.add(kJob, event::RoundFrozen{{kRound, 3}});
  const std::string third = reading.next();
  EXPECT_TRUE(third.starts_with("id: 00000000000000aa-3\nevent: round_frozen\n")) << third;
}

TEST_F(PeerPlane, RefusesAQuestionAfterEventsThatNamesNobodyOrTwo) {
  using Headers = std::vector<std::pair<std::string, std::string>>;
  const std::string name(257, 'x');
  for (Headers headers : {Headers{}, Headers{{"Coterie-Tenant", "No Tenant"}},
                          Headers{{"Coterie-Job", "j1"}, {"Coterie-Population", "p"}, {"Coterie-Tenant", "acme"}},
                          Headers{{"Coterie-Job", name}}, Headers{{"Coterie-Job", "j1"}, {"Coterie-Population", name}},
                          Headers{{"Coterie-Tenant", "acme"}, {"Last-Event-ID", "seven"}}}) {
    headers.emplace_back("Coterie-Hold-Ms", "0");
    const auto answer = wait<Result<PeerAnswer>>([&](auto done) {
      client_->send({.url = url_ + "/peer/v1/events", .headers = headers, .body = {}, .timeout = kPatience}, done);
    });
    ASSERT_OK(answer);
    EXPECT_EQ(answer->status, 400) << (headers.size() > 1 ? headers[0].second : "nobody");
  }
}

TEST_F(PeerPlane, EndsAStreamOfEventsWhoseLeaderLeadsNoMoreOrIsGone) {
  service_.set_owning(false);
  RemoteEvents stream(*client_, url_, {.of = kOfJob});
  EXPECT_EQ(EventReading(stream).next(), "the end");
  RemoteEvents lost(*client_, "https://127.0.0.1:1", {.of = kOfJob});
  EXPECT_EQ(EventReading(lost).next(), "the end");
}

TEST_F(PeerPlane, PassesMessagesOnAsTheyAre) {
  RemoteCohorts cohorts(*client_, [this] { return url_; });
  Unmasking unmasking;
  unmasking.device = 3;
  const Status sent = wait<Status>([&](auto done) {
    cohorts.cohort_receive(kRound, device_, {1, 2, 3}, unmasking, done);
  });
  EXPECT_OK(sent);
  EXPECT_EQ(owner_.heard,
            "receive 7.2 " + device_.hex() + " key 010203 kind " + std::to_string(CohortMessage(unmasking).index()));
}

TEST_F(PeerPlane, TellsRefusalsWithTheirCodeAndWords) {
  RemoteCohorts cohorts(*client_, [this] { return url_; });
  owner_.status = Error(ErrorCode::round_closed, "this attempt takes no more part");
  MaskedInput input;
  input.lane_bits = 64;
  input.lane_count = 12;
  const Status refused = send_input(cohorts, input);
  EXPECT_EQ(refused.error().code(), ErrorCode::round_closed);
  EXPECT_EQ(refused.error().message(), "this attempt takes no more part");
  EXPECT_EQ(owner_.heard, "input 7.2 " + device_.hex() + " lanes 12");
}

TEST_F(PeerPlane, BringsAnswersBackAndSaysNotYet) {
  RemoteCohorts cohorts(*client_, [this] { return url_; });
  const auto not_yet = ask(cohorts, CohortQuestion::roster, Millis(60'000));
  ASSERT_OK(not_yet);
  EXPECT_EQ(std::get<NotYet>(*not_yet).cohort_size, 40u);
  EXPECT_EQ(owner_.heard, "ask 7.2 " + device_.hex() + " 0 hold 5000") << "a server that leaves does not wait for long";
  ConfirmRequest request;
  request.survivors.size = 8;
  request.survivors.bits = {0xff};
  owner_.reply = CohortReply(request);
  const auto answer = ask(cohorts, CohortQuestion::confirm_request);
  ASSERT_OK(answer);
  EXPECT_EQ(std::get<ConfirmRequest>(*answer), request);
}

TEST_F(PeerPlane, WhoHasNoCertificateOfTheFleetIsNotHeard) {
  const PemPair stranger_ca = *make_dev_ca(os::wall_now(), 10);
  PeerCredentials stranger = credentials_of(stranger_ca, "stranger");
  stranger.ca_file = credentials_.ca_file;  // he trusts us; we do not trust him
  const auto client = *PeerClient::start(stranger);
  RemoteCohorts cohorts(*client, [this] { return url_; });
  EXPECT_EQ(send_input(cohorts).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(owner_.heard, "");
}

TEST_F(PeerPlane, AServerThatIsNotOfTheFleetLearnsNothing) {
  PeerCredentials wary = credentials_;
  wary.ca_file = credentials_of(*make_dev_ca(os::wall_now(), 10), "other").ca_file;
  const auto client = *PeerClient::start(wary);
  RemoteCohorts cohorts(*client, [this] { return url_; });
  EXPECT_EQ(send_input(cohorts).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(owner_.heard, "");
}

TEST_F(PeerPlane, AServerThatDoesNotLeadKeepsNoSessions) {
  service_.set_owning(false);
  RemoteCohorts cohorts(*client_, [this] { return url_; });
  EXPECT_EQ(send_input(cohorts).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(owner_.heard, "");
}

TEST_F(PeerPlane, WithoutAnOwnerNothingIsSent) {
  RemoteCohorts cohorts(*client_, [] { return std::string(); });
  EXPECT_EQ(send_input(cohorts).error().code(), ErrorCode::unavailable);
}

TEST_F(PeerPlane, RefusesWhatIsNoRequestOfAServer) {
  const auto post = [&](const std::string& path, std::vector<std::pair<std::string, std::string>> headers,
                        Bytes body = {}) {
    const auto answer = wait<Result<PeerAnswer>>([&](auto done) {
      client_->send({.url = url_ + path, .headers = std::move(headers), .body = std::move(body)}, done);
    });
    return answer ? answer->status : 0;
  };
  const std::pair<std::string, std::string> device{"Coterie-Device", device_.hex()};
  EXPECT_EQ(post("/v1/checkins", {device}), 404) << "no other plane is here";
  EXPECT_EQ(post("/peer/v1/cohorts/7/input", {device}), 404);
  EXPECT_EQ(post("/peer/v1/cohorts/7.x/input", {device}), 404);
  EXPECT_EQ(post("/peer/v1/cohorts/7.2/mood", {device}), 404);
  EXPECT_EQ(post("/peer/v1/cohorts/7.2/input", {}), 400) << "no device";
  EXPECT_EQ(post("/peer/v1/cohorts/7.2/input", {device}, {1, 2, 3}), 400) << "no frame";
  EXPECT_EQ(post("/peer/v1/cohorts/7.2/message", {device, {"Coterie-Key", "*"}}, {}), 400);
  EXPECT_EQ(post("/peer/v1/cohorts/7.2/roster_view", {device}), 400) << "no time to hold";
  EXPECT_EQ(post("/peer/v1/cohorts/7.2/roster_view", {device, {"Coterie-Hold-Ms", "-1"}}), 400);
  EXPECT_EQ(owner_.heard, "");
}

TEST_F(PeerPlane, WhatIsOnItsWayEndsWhenTheClientStops) {
  RemoteCohorts cohorts(*client_, [this] { return url_; });
  client_->stop();
  EXPECT_EQ(send_input(cohorts).error().code(), ErrorCode::cancelled);
}

}  // namespace
}  // namespace coterie

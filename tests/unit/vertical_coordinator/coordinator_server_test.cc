// The coordinator over loopback, with parties that dial out, and with those who have no business there.
#include "vertical/coordinator/coordinator_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_coordinator/live_coordinator.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/link/link.h"
#include "vertical/regression/train_regression.h"

namespace coterie::vertical {
namespace {

class CoordinatorServerTest : public ::testing::Test, protected test::LiveCoordinator {
 protected:
  void SetUp() override {
    limits_.buffer_bytes = 4 << 10;
    start();
  }
  void TearDown() override { stop(); }
};

// Connections that say nothing, three times as many as have a place, for as long as the test lasts.
TEST_F(CoordinatorServerTest, WhoOnlyDialsKeepsNobodyOut) {
  stop();
  limits_.ask_time = Millis(24 * 3'600'000);
  start();
  std::vector<int> silent;
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(server_->port()), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  for (uint32_t i = 0; i < 3 * limits_.asking_max; ++i) {
    silent.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(silent.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  const Result<JobView> answer = ask("label", {.kind = RequestKind::submit, .manifest = kManifest, .job = {}});
  EXPECT_OK(answer);
  for (const int fd : silent) ::close(fd);
}

// Both parties send far more than the relay's buffers hold, one after the other.
TEST_F(CoordinatorServerTest, CarriesMoreThanItsBuffersHold) {
  submit_and_approve();
  const Bytes large(3 << 20, 0x5A);
  Status feature_ended;
  std::thread feature([&] {
    auto stream = meet("feature", "label");
    feature_ended = stream ? Status() : Status(stream.error());
    if (!stream) return;
    Bytes heard(large.size());
    feature_ended = (*stream)->read_exact(heard);
    if (heard != large) feature_ended = Error(ErrorCode::data_loss, "other bytes came");
    if (feature_ended) feature_ended = (*stream)->write_all(large);
    std::array<uint8_t, 1> end;
    if (feature_ended && (*stream)->read_exact(end)) feature_ended = Error(ErrorCode::internal, "no end came");
  });
  {
    auto stream = meet("label", "feature");
    EXPECT_OK(stream);
    if (stream) {
      EXPECT_OK((*stream)->write_all(large));
      Bytes heard(large.size());
      EXPECT_OK((*stream)->read_exact(heard));
      EXPECT_EQ(heard, large);
    }
  }
  feature.join();
  EXPECT_OK(feature_ended);
  Request done = about(RequestKind::report);
  done.is_done = true;
  ASSERT_OK(ask("label", done));
  const Result<JobView> view = ask("feature", done);
  ASSERT_OK(view);
  EXPECT_EQ(view->state, JobState::done);
  for (const JobView::Party& party : view->parties) {
    EXPECT_GT(party.relayed_bytes, large.size());
    EXPECT_LT(party.relayed_bytes, large.size() + (large.size() >> 4)) << "what the parties' TLS adds";
  }
}

// A regression whose random numbers the coordinator deals; the dealt bytes are more than sockets hold.
TEST_F(CoordinatorServerTest, DealsARegression) {
  submit_and_approve();
  constexpr uint32_t kRows = 6000;
  RegressionColumns columns(1);
  std::vector<float> labels;
  for (uint32_t row = 0; row < kRows; ++row) {
    columns[0].push_back(static_cast<float>(row));
    labels.push_back(row < kRows / 2 ? 0 : 1);
  }
  const RegressionSettings settings{.epochs = 4, .batch = 4096};
  const RegressionShape shape{
      .rows = kRows, .label_columns = 2, .feature_columns = 1, .batch = settings.batch, .epochs = settings.epochs};
  const auto train = [&](const std::string& self, const std::string& peer) -> Result<RegressionModel> {
    COT_ASSIGN(auto stream, meet(self, peer));
    COT_ASSIGN(auto dealt, ask_dealer(door(self), kJob, manifest_, {.shape = shape, .session = {}}, {}));
    Link link(std::move(stream)), dealer(std::move(dealt));
    const bool is_label = self == "label";
    COT_ASSIGN(const auto training, is_label ? start_label_regression(shape, settings, columns, labels)
                                             : start_feature_regression(shape, settings, columns));
    COT_TRY(link.run(*training, StageId::training, is_label ? 1 : 0, dealer));
    return training->model();
  };
  Result<RegressionModel> feature = Error(ErrorCode::cancelled, "not yet");
  std::thread other([&] { feature = train("feature", "label"); });
  const Result<RegressionModel> label = train("label", "feature");
  other.join();
  ASSERT_OK(label);
  ASSERT_OK(feature);
  // Both have the same column, which the label follows.
  EXPECT_GT(label->columns[0].weight, 0.3);
  EXPECT_NEAR(label->columns[0].weight, feature->columns[0].weight, 1e-4);
}

// One job's file is damaged: that job ends, by name, and the others do not.
TEST_F(CoordinatorServerTest, FailsTheJobAloneWhoseDealingIsLost) {
  store_.is_secret_damaged = true;
  submit_and_approve();
  const RegressionShape shape{.rows = 20, .label_columns = 2, .feature_columns = 1, .batch = 16, .epochs = 1};
  const auto be_dealt_to = [&](const std::string& self, const std::string& peer) -> Status {
    COT_ASSIGN(const auto stream, meet(self, peer));
    COT_ASSIGN(const auto dealt, ask_dealer(door(self), kJob, manifest_, {.shape = shape, .session = {}}, {}));
    std::array<uint8_t, 1> byte;
    return dealt->read_exact(byte);
  };
  Status feature;
  std::thread other([&] { feature = be_dealt_to("feature", "label"); });
  EXPECT_FALSE(be_dealt_to("label", "feature"));
  other.join();
  EXPECT_FALSE(feature);
  const Result<JobView> view = ask("label", about(RequestKind::status));
  ASSERT_OK(view);
  EXPECT_EQ(view->state, JobState::failed);
  EXPECT_EQ(view->reason, "dealer_lost");
  EXPECT_OK(ask("label", {.kind = RequestKind::submit, .manifest = "K manifest", .job = {}}));
}

// A party that does not read holds its peer back: no more than the buffers and the sockets take is on its way.
TEST_F(CoordinatorServerTest, HoldsASenderBack) {
  submit_and_approve();
  std::atomic<bool> over{false};
  std::thread feature([&] {
    auto stream = meet("feature", "label");
    EXPECT_OK(stream);
    std::array<uint8_t, 1> byte;
    if (stream) {
      EXPECT_OK((*stream)->read_exact(byte));
    }
    while (!over.load()) std::this_thread::yield();
  });
  auto stream = meet("label", "feature", {.time = Millis(2000)});
  EXPECT_OK(stream);
  if (stream) {
    EXPECT_ERROR((*stream)->write_all(Bytes(64 << 20)), ErrorCode::timed_out, "2000 ms");
    const Result<JobView> view = ask("label", about(RequestKind::status));
    EXPECT_OK(view);
    if (view) {
      EXPECT_LT(view->parties[0].relayed_bytes, 32u << 20);
    }
  }
  over = true;
  stream = Error(ErrorCode::cancelled, "closed");
  feature.join();
}

TEST_F(CoordinatorServerTest, LetsNobodyInWithoutACertificateOfItsAuthority) {
  test::PartyFiles others;
  CoordinatorDoor stranger = door("label");
  const TlsIdentity theirs = others.identity("label", "coordinator");
  stranger.tls.certificate_file = theirs.certificate_file;
  stranger.tls.key_file = theirs.key_file;
  EXPECT_FALSE(ask_coordinator(stranger, {.kind = RequestKind::submit, .manifest = kManifest, .job = {}}, {}));
  EXPECT_TRUE(store_.records.empty());
  // Nor does a party take another one for the coordinator.
  CoordinatorDoor other = door("label");
  other.tls.peer_name = "somebody";
  EXPECT_ERROR(ask_coordinator(other, about(RequestKind::status), {}), ErrorCode::unauthenticated, "somebody");
}

TEST_F(CoordinatorServerTest, RefusesByName) {
  submit_and_approve();
  EXPECT_EQ(ask("stranger", about(RequestKind::join)).error().reason(), "not_a_party");
  Request other = about(RequestKind::join);
  other.job = {'K'};
  EXPECT_EQ(ask("label", other).error().reason(), "unknown_job");
  other = about(RequestKind::join);
  other.digest = Digest();
  EXPECT_EQ(ask("label", other).error().reason(), "manifest_differs");
  Request unsigned_approval = about(RequestKind::approve);
  unsigned_approval.signature = {1, 2, 3};
  EXPECT_EQ(ask("label", unsigned_approval).error().reason(), "signature_invalid");
}

TEST_F(CoordinatorServerTest, AnswersGarbageByName) {
  const CoordinatorDoor way = door("label");
  for (const Bytes& garbage : {Bytes(12, 'x'), write_refusal(Refusal::job_over)}) {
    auto stream = dial_party(way.host, way.port, way.tls, {});
    ASSERT_OK(stream);
    ASSERT_TRUE((*stream)->write_all(garbage));
    std::array<uint8_t, kCoordinatorHeaderBytes> header;
    ASSERT_OK((*stream)->read_exact(header));
    Bytes payload(*read_answer_header(header));
    ASSERT_OK((*stream)->read_exact(payload));
    EXPECT_EQ(read_answer(header, payload).error().reason(), "malformed_request");
  }
}

TEST_F(CoordinatorServerTest, ForgetsAPartyThatLeavesWhileItWaits) {
  submit_and_approve();
  EXPECT_ERROR(meet("label", "feature", {.time = Millis(100)}), ErrorCode::timed_out, "100 ms");
  // It comes again, and is not taken for one that is here.
  Result<std::unique_ptr<ByteStream>> feature = Error(ErrorCode::cancelled, "not yet");
  std::thread other([&] { feature = meet("feature", "label"); });
  EXPECT_OK(meet("label", "feature"));
  other.join();
  EXPECT_OK(feature);
}

TEST_F(CoordinatorServerTest, KnowsItsJobsAfterAnEnd) {
  ASSERT_OK(ask("feature", {.kind = RequestKind::submit, .manifest = kManifest, .job = {}}));
  ASSERT_OK(approve("label"));
  stop();
  start();
  const Result<JobView> view = ask("label", about(RequestKind::status));
  ASSERT_OK(view);
  EXPECT_EQ(view->state, JobState::created);
  EXPECT_TRUE(view->parties[0].is_approved);
  EXPECT_FALSE(view->parties[1].is_approved);
  EXPECT_EQ(approve("feature")->state, JobState::approved);
}

TEST_F(CoordinatorServerTest, EndsRatherThanPromiseWhatIsNotStored) {
  stop();
  store_.is_broken = true;
  start();
  EXPECT_FALSE(ask("label", {.kind = RequestKind::submit, .manifest = kManifest, .job = {}}));
  thread_.join();
  EXPECT_ERROR(ended_, ErrorCode::storage_full, "no room");
}

}  // namespace
}  // namespace coterie::vertical

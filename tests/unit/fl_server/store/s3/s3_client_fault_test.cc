// What goes wrong between us and a store, and what becomes of it.
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/fl_server/store/s3/client_world.h"

namespace coterie::s3 {
namespace {

class S3Faults : public testing::Test {
 protected:
  // Requests of this method that the store has seen since the last call.
  int seen(const std::string& method) {
    const int all = test::state_of(store_)["requests"].value(method, 0);
    return all - std::exchange(before_[method], all);
  }
  std::unique_ptr<S3Client> with(void (*change)(S3Settings&)) {
    S3Settings settings = store_.settings();
    change(settings);
    return test::client_of(store_, settings);
  }

  test::S3Double store_;
  std::unique_ptr<S3Client> client_ = test::client_of(store_);
  std::map<std::string, int> before_;
};

TEST_F(S3Faults, ThatPassAreWaitedFor) {
  for (const char* kind : {"slow_down", "internal", "reset", "lost", "mangle"}) {
    store_.faults(std::string(R"([{"method": "PUT", "times": 3, "kind": ")") + kind + "\"}]");
    EXPECT_OK(client_->put("k", as_bytes(kind))) << kind;
    EXPECT_EQ(seen("PUT"), 4) << kind;
    EXPECT_EQ(client_->get("k", 0, std::string_view(kind).size(), {}).value_or(Bytes()),
              Bytes(as_bytes(kind).begin(), as_bytes(kind).end()));
  }
}

TEST_F(S3Faults, ThatDoNotPassAreToldAfterSoManyTries) {
  store_.faults(R"([{"times": 1000, "kind": "slow_down"}])");
  EXPECT_ERROR(client_->put("k", as_bytes("x")), ErrorCode::unavailable,
               "after 6 tries: S3 PUT fl-blobs/k: the store answered 503 SlowDown");
  EXPECT_EQ(seen("PUT"), 6);
  EXPECT_ERROR(client_->head("k"), ErrorCode::unavailable, "503");
  store_.faults(R"([{"times": 1000, "kind": "reset"}])");
  EXPECT_ERROR(client_->get("k", 0, 1, {}), ErrorCode::unavailable, "after 6 tries");
  store_.faults("[]");
  EXPECT_OK(client_->put("k", as_bytes("x")));
}

TEST_F(S3Faults, ThatNoTryCanMendAreToldAtOnce) {
  store_.faults(R"([{"times": 1, "kind": "denied"}, {"times": 1, "kind": "full"}])");
  EXPECT_ERROR(client_->put("k", as_bytes("x")), ErrorCode::permission_denied, "AccessDenied");
  EXPECT_ERROR(client_->put("k", as_bytes("x")), ErrorCode::storage_full, "507");
  EXPECT_EQ(seen("PUT"), 2);
}

TEST_F(S3Faults, OfAnAnswerAreNoticed) {
  ASSERT_OK(client_->put("k", as_bytes("0123456789")));
  const std::string etag = client_->head("k")->etag;
  for (const char* kind : {"cut", "wrong_etag", "wrong_range"}) {
    store_.faults(std::string(R"([{"method": "GET", "times": 2, "kind": ")") + kind + "\"}]");
    EXPECT_EQ(client_->get("k", 2, 3, etag).value_or(Bytes()), Bytes({'2', '3', '4'})) << kind;
    EXPECT_EQ(seen("GET"), 3) << kind;
    store_.faults(std::string(R"([{"method": "GET", "times": 100, "kind": ")") + kind + "\"}]");
    const Result<Bytes> never = client_->get("k", 2, 3, etag);
    ASSERT_FALSE(never) << kind;
    EXPECT_EQ(never.error().code(), std::string_view(kind) == "cut" ? ErrorCode::unavailable : ErrorCode::data_loss)
        << kind;
    (void)seen("GET");
  }
}

TEST_F(S3Faults, OfAStoreThatStandsStillEnd) {
  const auto hasty = with([](S3Settings& settings) {
    settings.transfer_max = Millis(150);
    settings.tries_max = 2;
  });
  store_.faults(R"([{"times": 100, "kind": "stall"}])");
  EXPECT_ERROR(hasty->put("k", as_bytes("x")), ErrorCode::timed_out, "after 2 tries");
  const auto brief = with([](S3Settings& settings) { settings.operation_max = Millis(100); });
  EXPECT_ERROR(brief->put("k", as_bytes("x")), ErrorCode::timed_out, "after 1 tries");
}

TEST_F(S3Faults, AreNotWaitedForByWhoeverStops) {
  store_.faults(R"([{"times": 100, "kind": "stall"}])");
  Status status;
  std::thread waiting([&] { status = client_->put("k", as_bytes("x")); });
  client_->cancel();
  waiting.join();
  EXPECT_ERROR(status, ErrorCode::cancelled, "stopped");
  EXPECT_ERROR(client_->head("k"), ErrorCode::cancelled, "stopped");
  // Between two tries, too.
  store_.faults(R"([{"times": 100, "kind": "slow_down"}])");
  const auto patient = with([](S3Settings& settings) {
    settings.backoff_base = settings.backoff_max = Millis(1'000'000'000);
    settings.operation_max = Millis(2'000'000'000);
  });
  std::thread pausing([&] { status = patient->put("k", as_bytes("x")); });
  while (seen("PUT") == 0) std::this_thread::yield();
  patient->cancel();
  pausing.join();
  EXPECT_ERROR(status, ErrorCode::cancelled, "stopped");
}

TEST_F(S3Faults, OfTheClockAreFollowed) {
  ASSERT_OK(client_->put("k", as_bytes("x")));
  for (const char* hours : {"7200", "-14400"}) {
    store_.set(std::string(R"({"ahead_s": )") + hours + "}");
    (void)seen("PUT");
    EXPECT_OK(client_->put("k", as_bytes("x"))) << hours;
    EXPECT_EQ(seen("PUT"), 2) << "the second by the store's clock";
    EXPECT_OK(client_->put("k", as_bytes("x"))) << hours;
    EXPECT_EQ(seen("PUT"), 1) << "which is known now";
  }
}

TEST_F(S3Faults, OfCredentialsAreToldAtOnce) {
  const auto client = [&](std::string_view id, std::string_view secret) {
    return S3Client(store_.settings(), std::move(*Credentials::make(id, secret)), [] { return os::wall_now(); });
  };
  S3Client stranger = client("AKIDOTHER", test::S3Double::kSecretKey);
  EXPECT_ERROR(stranger.put("k", as_bytes("x")), ErrorCode::permission_denied, "InvalidAccessKeyId");
  S3Client liar = client(test::S3Double::kAccessKeyId, "wrong");
  EXPECT_ERROR(liar.put("k", as_bytes("x")), ErrorCode::permission_denied, "correct the secret key");
  EXPECT_ERROR(liar.head("k"), ErrorCode::permission_denied, "403");
  EXPECT_EQ(seen("PUT"), 2);
}

TEST_F(S3Faults, OfTheConfigurationSayWhatToCorrect) {
  const auto elsewhere = with([](S3Settings& settings) { settings.bucket = "other-bucket"; });
  EXPECT_ERROR(elsewhere->list("", {}), ErrorCode::unavailable, "create the bucket");
  const auto region = with([](S3Settings& settings) { settings.region = "us-east-1"; });
  EXPECT_ERROR(region->list("", {}), ErrorCode::permission_denied, "correct the region");
}

TEST_F(S3Faults, OfTrustAreNoAnswer) {
  S3Settings settings = store_.settings();
  settings.tries_max = 1;
  settings.ca_file = store_.other_ca_file();
  EXPECT_ERROR(test::client_of(store_, settings)->put("k", as_bytes("x")), ErrorCode::unavailable, "certificate");
  settings.ca_file.clear();  // whom the system trusts
  EXPECT_ERROR(test::client_of(store_, settings)->put("k", as_bytes("x")), ErrorCode::unavailable, "certificate");
  settings = store_.settings();
  settings.tries_max = 1;
  settings.endpoint = "https://127.0.0.1:" + store_.port();
  EXPECT_ERROR(test::client_of(store_, settings)->put("k", as_bytes("x")), ErrorCode::unavailable, "")
      << "not its name";
  EXPECT_EQ(seen("PUT"), 0);
}

TEST_F(S3Faults, OfCompletingAnUploadAreNoticedThoughTheStatusIsGood) {
  store_.set(R"({"part_bytes_min": 1})");
  const std::string upload = *client_->begin_upload("big");
  const std::vector<Part> parts = {*client_->put_part("big", upload, 1, as_bytes("abc"))};
  store_.faults(R"([{"method": "POST", "times": 2, "kind": "internal_in_200"}])");
  ASSERT_OK(client_->complete_upload("big", upload, parts));
  EXPECT_EQ(client_->head("big")->size, 3u);
}

TEST_F(S3Faults, OfAPartsETagAreAnErrorOfTheWhole) {
  const std::string upload = *client_->begin_upload("big");
  store_.faults(R"([{"method": "PUT", "times": 1, "kind": "wrong_etag"}])");
  const std::vector<Part> parts = {*client_->put_part("big", upload, 1, as_bytes("abc"))};
  EXPECT_ERROR(client_->complete_upload("big", upload, parts), ErrorCode::data_loss, "InvalidPart");
  EXPECT_ERROR(client_->head("big"), ErrorCode::not_found, "");
}

}  // namespace
}  // namespace coterie::s3

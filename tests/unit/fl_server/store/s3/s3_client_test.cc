#include "fl_server/store/s3/s3_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/os/clock.h"
#include "tests/unit/fl_server/store/s3/client_world.h"

namespace coterie::s3 {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class S3ClientTest : public testing::Test {
 protected:
  std::vector<std::string> keys(const std::string& prefix) {
    std::vector<std::string> found;
    std::string token;
    do {
      const Result<DatedPage> page = client_->list(prefix, token);
      EXPECT_OK(page);
      if (!page) break;
      for (const ListedObject& object : page->page.objects) found.push_back(object.key);
      token = page->page.next;
      ++pages_;
    } while (!token.empty());
    return found;
  }

  test::S3Double store_;
  std::unique_ptr<S3Client> client_ = test::client_of(store_);
  int pages_ = 0;
};

TEST_F(S3ClientTest, PutsTellsGetsAndRemoves) {
  const Bytes body = {'h', 'e', 'l', 'l', 'o'};
  ASSERT_OK(client_->put("a/b", body));
  const Result<ObjectInfo> info = client_->head("a/b");
  ASSERT_OK(info);
  EXPECT_EQ(info->size, 5u);
  EXPECT_EQ(info->etag, "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(client_->get("a/b", 0, 5, info->etag).value_or(Bytes()), body);
  EXPECT_EQ(client_->get("a/b", 1, 3, info->etag).value_or(Bytes()), Bytes({'e', 'l', 'l'}));
  EXPECT_ERROR(client_->get("a/b", 3, 3, info->etag), ErrorCode::data_loss, "not the range") << "one byte too many";
  EXPECT_ERROR(client_->get("a/b", 5, 1, info->etag), ErrorCode::data_loss, "416");
  EXPECT_OK(client_->remove("a/b"));
  EXPECT_OK(client_->remove("a/b"));
  EXPECT_ERROR(client_->head("a/b"), ErrorCode::not_found, "a/b");
  EXPECT_ERROR(client_->get("a/b", 0, 1, {}), ErrorCode::not_found, "NoSuchKey");
}

TEST_F(S3ClientTest, PutsNothingAndKeysWithAnyCharacter) {
  const std::string odd = "a b/c+d&e=f%g'h\"i\xc3\xa9~";
  ASSERT_OK(client_->put(odd, {}));
  EXPECT_EQ(client_->head(odd)->size, 0u);
  EXPECT_THAT(keys("a b/c+"), ElementsAre(odd));
}

TEST_F(S3ClientTest, GetsOnlyTheObjectThatItWasShown) {
  ASSERT_OK(client_->put("k", as_bytes("one")));
  const std::string etag = client_->head("k")->etag;
  ASSERT_OK(client_->put("k", as_bytes("two")));
  EXPECT_ERROR(client_->get("k", 0, 3, etag), ErrorCode::data_loss, "another now");
}

TEST_F(S3ClientTest, GoesThroughAllPagesOfAList) {
  store_.set(R"({"page_max": 2})");
  for (const char* key : {"p/1", "p/2", "p/3", "p/4", "p/5", "q/1", "p"}) ASSERT_OK(client_->put(key, {}));
  EXPECT_THAT(keys("p/"), ElementsAre("p/1", "p/2", "p/3", "p/4", "p/5"));
  EXPECT_EQ(pages_, 3);
  EXPECT_THAT(keys("none/"), IsEmpty());
  const Result<DatedPage> page = client_->list("q/", {});
  ASSERT_OK(page);
  const Millis age = page->now - page->page.objects.at(0).modified;
  EXPECT_LT(std::abs(age.count()), 60'000) << "both by the store's clock";
}

TEST_F(S3ClientTest, PutsAnObjectInParts) {
  store_.set(R"({"part_bytes_min": 3})");
  const Result<std::string> upload = client_->begin_upload("big");
  ASSERT_OK(upload);
  std::vector<Part> parts;
  for (const char* text : {"abc", "def", "g"}) {
    const Result<Part> part =
        client_->put_part("big", *upload, static_cast<uint32_t>(parts.size()) + 1, as_bytes(text));
    ASSERT_OK(part);
    parts.push_back(*part);
  }
  EXPECT_ERROR(client_->head("big"), ErrorCode::not_found, "") << "not before it is complete";
  ASSERT_OK(client_->complete_upload("big", *upload, parts));
  EXPECT_EQ(client_->get("big", 0, 7, {}).value_or(Bytes()), Bytes({'a', 'b', 'c', 'd', 'e', 'f', 'g'}));
  EXPECT_ERROR(client_->complete_upload("big", *upload, parts), ErrorCode::not_found, "NoSuchUpload");
}

TEST_F(S3ClientTest, AbortsAnUpload) {
  const Result<std::string> upload = client_->begin_upload("big");
  ASSERT_OK(upload);
  ASSERT_OK(client_->put_part("big", *upload, 1, as_bytes("abc")));
  EXPECT_EQ(test::state_of(store_)["uploads"], 1);
  EXPECT_OK(client_->abort_upload("big", *upload));
  EXPECT_OK(client_->abort_upload("big", *upload)) << "absent is fine";
  EXPECT_EQ(test::state_of(store_)["uploads"], 0);
}

TEST_F(S3ClientTest, KeepsItsConnections) {
  const int before = test::state_of(store_)["connections"];
  for (int i = 0; i < 20; ++i) ASSERT_OK(client_->put("k", as_bytes("x")));
  EXPECT_ERROR(client_->head("none"), ErrorCode::not_found, "");
  const int now = test::state_of(store_)["connections"];
  EXPECT_EQ(now - before, 2) << "one, and the test's own question";
}

TEST_F(S3ClientTest, IsForManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 5; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        EXPECT_OK(client_->put(key, as_bytes(key)));
        EXPECT_EQ(client_->get(key, 0, key.size(), {}).value_or(Bytes()), Bytes(key.begin(), key.end()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(keys("").size(), 30u);
}

TEST_F(S3ClientTest, FindsTheBucketByHostAsWell) {
  S3Settings settings = store_.settings();
  settings.path_style = false;  // fl-blobs.localhost
  const auto by_host = test::client_of(store_, settings);
  ASSERT_OK(by_host->put("k", as_bytes("x")));
  EXPECT_EQ(client_->head("k")->size, 1u);
  EXPECT_OK(by_host->list("", {}));
}

TEST_F(S3ClientTest, MakesUrlsThatWorkForWhoeverHasThemAndOnlySoLong) {
  ASSERT_OK(client_->put("a/b c", as_bytes("hello")));
  HttpsPool anybody(store_.ca_file(), Millis(20'000));
  const auto fetch = [&](const std::string& url) {
    return anybody.send({.method = "GET", .url = url, .headers = {}, .body = {}, .answer_bytes_max = 10'000});
  };
  const std::string url = client_->presigned_get("a/b c", 60);
  const Result<HttpsReply> good = fetch(url);
  ASSERT_OK(good);
  EXPECT_EQ(good->status, 200);
  EXPECT_EQ(as_text(good->body), "hello");
  EXPECT_EQ(fetch(url + "x")->status, 403);
  store_.set(R"({"ahead_s": 61})");
  EXPECT_EQ(fetch(url)->status, 403);
}

}  // namespace
}  // namespace coterie::s3

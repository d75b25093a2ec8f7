#include "fl_server/net/blob_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/store/directory_blob_store.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

using testing::IsEmpty;

class BlobResponse : public testing::Test {
 protected:
  void SetUp() override {
    auto store = DirectoryBlobStore::open_directory(directory_ / "blobs");
    ASSERT_OK(store);
    store_ = std::move(*store);
    digest_ = store_->put(as_bytes("0123456789")).value();
    etag_ = "\"" + digest_.hex() + "\"";
  }

  HttpResponse ask(std::vector<std::pair<std::string, std::string>> headers, const std::string& method = "GET") {
    RequestHead head;
    head.method = method;
    head.headers = std::move(headers);
    return blob_response(head, *store_, digest_, "text/x").value();
  }
  HttpResponse ask_range(const std::string& range) { return ask({{"range", range}}); }

  static std::string header(const HttpResponse& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return {};
  }
  static std::string body_of(const HttpResponse& response) {
    if (!response.blob) return std::string(as_text(response.body));
    Bytes bytes(response.blob->size);
    EXPECT_OK(response.blob->blob->read_at(response.blob->offset, bytes));
    return std::string(as_text(bytes));
  }

  test::TemporaryDirectory directory_{test::memory_disk()};
  std::unique_ptr<BlobStore> store_;
  Digest digest_;
  std::string etag_;
};

TEST_F(BlobResponse, IsTheWholeBlobWithWhatACacheMayKnow) {
  const HttpResponse response = ask({});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/x");
  EXPECT_EQ(body_of(response), "0123456789");
  EXPECT_EQ(header(response, "ETag"), etag_);
  EXPECT_EQ(header(response, "Accept-Ranges"), "bytes");
  EXPECT_EQ(header(response, "Cache-Control"), "private, max-age=31536000, immutable");
  EXPECT_FALSE(response.head_only);
}

TEST_F(BlobResponse, IsNotFoundForABlobThatIsNotThere) {
  RequestHead head;
  head.method = "GET";
  EXPECT_ERROR(blob_response(head, *store_, Digest{}, "text/x"), ErrorCode::not_found, "");
}

TEST_F(BlobResponse, IsOneRangeIfOneIsAskedFor) {
  struct Case {
    const char* range;
    const char* body;
    const char* content_range;
  };
  for (const Case& one : std::initializer_list<Case>{{"bytes=0-0", "0", "bytes 0-0/10"},
                                                     {"bytes=2-4", "234", "bytes 2-4/10"},
                                                     {"bytes=9-9", "9", "bytes 9-9/10"},
                                                     {"bytes=0-9", "0123456789", "bytes 0-9/10"},
                                                     {"bytes=7-", "789", "bytes 7-9/10"},
                                                     {"bytes=0-", "0123456789", "bytes 0-9/10"},
                                                     {"bytes=8-1000", "89", "bytes 8-9/10"},
                                                     {"bytes=8-18446744073709551615", "89", "bytes 8-9/10"},
                                                     {"bytes=-3", "789", "bytes 7-9/10"},
                                                     {"bytes=-10", "0123456789", "bytes 0-9/10"},
                                                     {"bytes=-11", "0123456789", "bytes 0-9/10"},
                                                     {"bytes=-18446744073709551615", "0123456789", "bytes 0-9/10"}}) {
    const HttpResponse response = ask_range(one.range);
    EXPECT_EQ(response.status, 206) << one.range;
    EXPECT_EQ(body_of(response), one.body) << one.range;
    EXPECT_EQ(header(response, "Content-Range"), one.content_range) << one.range;
    EXPECT_EQ(header(response, "ETag"), etag_) << one.range;
  }
}

TEST_F(BlobResponse, Is416ForARangeBehindTheEnd) {
  for (const char* range : {"bytes=10-", "bytes=10-12", "bytes=18446744073709551615-", "bytes=-0"}) {
    const HttpResponse response = ask_range(range);
    EXPECT_EQ(response.status, 416) << range;
    EXPECT_EQ(header(response, "Content-Range"), "bytes */10") << range;
    EXPECT_THAT(body_of(response), IsEmpty()) << range;
  }
}

TEST_F(BlobResponse, IsWholeForARangeThatIsNotUnderstood) {
  for (const char* range : {"",
                            "bytes",
                            "bytes=",
                            "bytes=-",
                            "bytes=--1",
                            "bytes=4-2",
                            "bytes=a-b",
                            "bytes=1-b",
                            "bytes=0-1,3-4",
                            "bytes=0-1,",
                            "bytes=+0-1",
                            "bytes=0-+1",
                            "bytes= 0-1",
                            "bytes=0 -1",
                            "bytes=0-1 ",
                            "bytes=0x0-1",
                            "bytes=1.0-2",
                            "bytes=1",
                            "bytes 0-1",
                            "items=0-1",
                            "0-1",
                            "bytes=1-2-3",
                            "bytes=99999999999999999999-",
                            "bytes=0-99999999999999999999",
                            "bytes=-99999999999999999999"}) {
    const HttpResponse response = ask_range(range);
    EXPECT_EQ(response.status, 200) << range;
    EXPECT_EQ(body_of(response), "0123456789") << range;
    EXPECT_EQ(header(response, "Content-Range"), "") << range;
  }
}

TEST_F(BlobResponse, Is304ForWhoeverHasItAlready) {
  for (const std::string& known :
       {etag_, "W/" + etag_, "\"other\", " + etag_, etag_ + ",\"other\"", std::string("*")}) {
    const HttpResponse response = ask({{"if-none-match", known}, {"range", "bytes=0-1"}});
    EXPECT_EQ(response.status, 304) << known;
    EXPECT_THAT(body_of(response), IsEmpty()) << known;
    EXPECT_EQ(header(response, "ETag"), etag_) << known;
  }
  for (const std::string& unknown : {std::string("\"other\""), digest_.hex(), std::string(""), std::string("\"*\"")}) {
    EXPECT_EQ(ask({{"if-none-match", unknown}}).status, 200) << unknown;
  }
}

TEST_F(BlobResponse, IsARangeOnlyOfTheBlobThatIfRangeMeans) {
  EXPECT_EQ(ask({{"range", "bytes=0-1"}, {"if-range", etag_}}).status, 206);
  for (const std::string& other :
       {std::string("\"other\""), "W/" + etag_, std::string("Sat, 29 Oct 2022 19:43:31 GMT")}) {
    const HttpResponse response = ask({{"range", "bytes=0-1"}, {"if-range", other}});
    EXPECT_EQ(response.status, 200) << other;
    EXPECT_EQ(body_of(response), "0123456789") << other;
  }
}

TEST_F(BlobResponse, ToHeadSaysHowLargeTheWholeIs) {
  const HttpResponse response = ask({}, "HEAD");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.head_only);
  EXPECT_EQ(response.blob->size, 10u);
  // RFC 9110 section 14.2: ranges are defined for GET alone.
  const HttpResponse ranged = ask({{"range", "bytes=0-1"}}, "HEAD");
  EXPECT_EQ(ranged.status, 200);
  EXPECT_EQ(ranged.blob->size, 10u);
  EXPECT_EQ(ask({{"if-none-match", etag_}}, "HEAD").status, 304);
}

TEST_F(BlobResponse, OfNothingHasNoRange) {
  digest_ = store_->put({}).value();
  EXPECT_EQ(ask({}).status, 200);
  EXPECT_THAT(body_of(ask({})), IsEmpty());
  for (const char* range : {"bytes=0-", "bytes=0-0", "bytes=-1"}) {
    const HttpResponse response = ask_range(range);
    EXPECT_EQ(response.status, 416) << range;
    EXPECT_EQ(header(response, "Content-Range"), "bytes */0") << range;
  }
}

}  // namespace
}  // namespace coterie

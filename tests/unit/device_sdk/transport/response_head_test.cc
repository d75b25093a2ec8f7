// Heads of answers, good and bad, and bodies in chunks, in every way a network can cut them.
#include "device_sdk/transport/response_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

struct GoodHead {
  const char* text;
  int status;
  std::optional<uint64_t> content_length = {};
  bool keep_alive = true;
  bool chunked = false;
};

const GoodHead kGood[] = {
    {"HTTP/1.1 200 OK\r\n\r\n", 200},
    {"HTTP/1.1 200 \r\n\r\n", 200},
    {"HTTP/1.1 204 No Content\r\n\r\n", 204},
    {"HTTP/1.1 100 Continue\r\n\r\n", 100},
    {"HTTP/1.1 404 A Reason With Words\r\nContent-Length: 0\r\n\r\n", 404, 0},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, 5},
    {"HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\n", 200, 5},
    {"HTTP/1.1 200 OK\r\nCONTENT-LENGTH: \t 5 \t\r\n\r\n", 200, 5},
    {"HTTP/1.1 200 OK\r\nContent-Length: 00005\r\n\r\n", 200, 5},
    {"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", 200, 9223372036854775807u},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, {}, true, true},
    {"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n", 200, {}, true, true},
    {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n", 200, 1, false},
    {"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", 200, 1, true},
    {"HTTP/1.1 200 OK\r\nConnection: upgrade, CLOSE\r\nContent-Length: 1\r\n\r\n", 200, 1, false},
    {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", 200, 1, false},
    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", 200, 1, true},
    {"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n", 503, 2},
    {"HTTP/1.1 299 Odd\r\nX-Empty:\r\nContent-Length: 2\r\n\r\n", 299, 2},
    {"HTTP/1.1 599 \x80\xff\r\nContent-Length: 2\r\n\r\n", 599, 2},
};

const char* const kBad[] = {
    "\r\n\r\n",
    "garbage\r\n\r\n",
    "HTTP/1.1\r\n\r\n",
    "HTTP/1.1 \r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1 abc OK\r\n\r\n",
    "HTTP/1.1 -20 OK\r\n\r\n",
    "HTTP/2 200 OK\r\n\r\n",
    "HTTP/2.0 200 OK\r\n\r\n",
    "HTTP/3.7 200 OK\r\n\r\n",
    "http/1.1 200 OK\r\n\r\n",
    "HTTP/1.1  200 OK\r\n\r\n",
    " HTTP/1.1 200 OK\r\n\r\n",
    "HTTP /1.1 200 OK\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
    "HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
    "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nName : x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX: a\x01z\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n",
};

TEST(ResponseHead, ReadsEveryGoodHead) {
  for (const GoodHead& good : kGood) {
    SCOPED_TRACE(good.text);
    const auto head = parse_response_head(as_bytes(good.text));
    ASSERT_OK(head);
    ASSERT_TRUE(*head);
    EXPECT_EQ((*head)->response.status, good.status);
    EXPECT_EQ((*head)->content_length, good.content_length);
    EXPECT_EQ((*head)->keep_alive, good.keep_alive);
    EXPECT_EQ((*head)->chunked, good.chunked);
    EXPECT_EQ((*head)->head_bytes, std::string_view(good.text).size());
  }
}

TEST(ResponseHead, RefusesEveryBadHead) {
  for (const char* bad : kBad) EXPECT_ERROR(parse_response_head(as_bytes(bad)), ErrorCode::malformed, "") << bad;
}

TEST(ResponseHead, OfWhichAnyBeginningIsGivenIsNotThereYet) {
  for (const GoodHead& good : kGood) {
    const std::string_view text(good.text);
    for (size_t size = 0; size < text.size(); ++size) {
      const auto head = parse_response_head(as_bytes(text.substr(0, size)));
      ASSERT_OK(head);
      EXPECT_FALSE(*head) << text.substr(0, size);
    }
  }
}

TEST(ResponseHead, StopsWhereTheBodyBegins) {
  const auto head = parse_response_head(as_bytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\r\n\r\nHTTP/1.1 500"));
  ASSERT_OK(head);
  ASSERT_TRUE(*head);
  EXPECT_EQ((*head)->head_bytes, 38u);
  EXPECT_EQ((*head)->content_length, 4u);
}

TEST(ResponseHead, GivesHeadersInLowerCaseTheSameNameInOrder) {
  const auto head = parse_response_head(
      as_bytes("HTTP/1.1 200 OK\r\nX-B: 1\r\nETag:  \"q\" \r\nx-b: 2\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n"));
  ASSERT_OK(head);
  const std::vector<std::pair<std::string, std::string>> expected{
      {"x-b", "1"}, {"x-b", "2"}, {"etag", "\"q\""}, {"x-empty", ""}, {"content-length", "0"}};
  EXPECT_EQ((*head)->response.headers, expected);
  EXPECT_EQ((*head)->response.header("x-b"), "1");
  EXPECT_EQ((*head)->response.header("absent"), "");
}

TEST(ResponseHead, HasAnEndOrIsNotWaitedFor) {
  const std::string begin = "HTTP/1.1 200 OK\r\nX: ";
  const std::string endless = begin + std::string(kResponseHeadBytesMax, 'x');
  EXPECT_ERROR(parse_response_head(as_bytes(endless)), ErrorCode::malformed, "");
  EXPECT_ERROR(parse_response_head(as_bytes(endless + "\r\n\r\n")), ErrorCode::malformed, "");
  const std::string fits = begin + std::string(kResponseHeadBytesMax - begin.size() - 100, 'x') + "\r\n\r\n";
  EXPECT_OK(parse_response_head(as_bytes(fits)));
}

// The body of a chunked answer that comes in pieces of `piece` bytes, the first with the head.
Result<std::string> read_chunks(const std::string& chunks, size_t piece) {
  const std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks;
  size_t at = std::min(piece, text.size());
  const auto more = [&](Bytes& bytes) -> Status {
    if (at == text.size()) return Error(ErrorCode::unavailable, "the end");
    const std::string next = text.substr(at, piece);
    bytes.insert(bytes.end(), next.begin(), next.end());
    at += next.size();
    return {};
  };
  std::string body;
  const auto sink = [&](ByteView bytes) -> Status {
    body += as_text(bytes);
    return {};
  };
  COT_ASSIGN(const uint64_t size,
             read_chunked_body(Bytes(text.begin(), text.begin() + static_cast<ptrdiff_t>(at)), more, sink));
  EXPECT_EQ(size, body.size());
  return body;
}

TEST(ChunkedBody, IsTheSameHoweverItIsCut) {
  const std::string large(100'000, 'L');
  const std::pair<std::string, std::string> bodies[] = {
      {"0\r\n\r\n", ""},
      {"5\r\nhello\r\n0\r\n\r\n", "hello"},
      {"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc"},
      {"A;name=value\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
      {"5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", "hello"},
      {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
      {"186a0\r\n" + large + "\r\n0\r\n\r\n", large},
  };
  for (const auto& [chunks, expected] : bodies) {
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, size_t{64}, size_t{4096}, size_t{1} << 20}) {
      const auto body = read_chunks(chunks, piece);
      ASSERT_OK(body) << chunks.substr(0, 40) << " by " << piece;
      EXPECT_TRUE(*body == expected) << chunks.substr(0, 40) << " by " << piece;
    }
  }
}

TEST(ChunkedBody, ThatIsWrongIsMalformed) {
  for (const char* chunks : {"\r\n\r\n", "x\r\n", "-1\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "11111111111111111\r\n",
                             "5\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n"}) {
    for (const size_t piece : {size_t{1}, size_t{1} << 20}) {
      EXPECT_ERROR(read_chunks(chunks, piece), ErrorCode::malformed, "") << chunks << " by " << piece;
    }
  }
}

TEST(ChunkedBody, ThatEndsTooEarlySaysWhatTheConnectionSays) {
  for (const char* chunks : {"", "5", "5\r\n", "5\r\nhell", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n"}) {
    EXPECT_ERROR(read_chunks(chunks, 1), ErrorCode::unavailable, "the end") << chunks;
  }
}

TEST(ChunkedBody, EndsWithTheSinksError) {
  const std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  const auto more = [](Bytes&) -> Status { return Error(ErrorCode::internal, "nothing more is needed"); };
  const auto full = [](ByteView) -> Status { return Error(ErrorCode::storage_full, "full"); };
  EXPECT_ERROR(read_chunked_body(Bytes(text.begin(), text.end()), more, full), ErrorCode::storage_full, "full");
}

}  // namespace
}  // namespace coterie::test

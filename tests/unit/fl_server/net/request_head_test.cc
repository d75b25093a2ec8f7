#include "fl_server/net/request_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::Pair;

Result<RequestHead> parse(const std::string& text) { return parse_request_head(as_bytes(text)); }

TEST(RequestHead, HasEverythingThatWasSent) {
  const auto head = parse(
      "PUT /v1/rounds/17/updates/A-Z_a~z.9:x?after=%41&limit=+5 HTTP/1.1\r\n"
      "Host: fl.example.org:8443\r\n"
      "Content-Length: 18446744073709551615\r\n"
      "X-Mixed-CASE: \t two words \t\r\n"
      "Empty:\r\n"
      "Obs-Text: caf\xe9\r\n"
      "\r\n");
  ASSERT_OK(head);
  EXPECT_EQ(head->method, "PUT");
  EXPECT_EQ(head->path, "/v1/rounds/17/updates/A-Z_a~z.9:x");
  EXPECT_EQ(head->query, "after=%41&limit=+5");
  EXPECT_EQ(head->target, head->path + "?" + head->query);
  EXPECT_EQ(head->content_length, UINT64_MAX);
  EXPECT_TRUE(head->keep_alive);
  EXPECT_FALSE(head->expects_continue);
  EXPECT_THAT(head->headers,
              ElementsAre(Pair("host", "fl.example.org:8443"), Pair("content-length", "18446744073709551615"),
                          Pair("x-mixed-case", "two words"), Pair("empty", ""), Pair("obs-text", "caf\xe9")));
  EXPECT_EQ(head->header("x-mixed-case"), "two words");
  EXPECT_EQ(head->header("absent"), "");
}

TEST(RequestHead, MayBeAsSmallAsItGets) {
  const auto head = parse("G / HTTP/1.0\r\n\r\n");
  ASSERT_OK(head);
  EXPECT_EQ(head->method, "G");
  EXPECT_EQ(head->path, "/");
  EXPECT_EQ(head->query, "");
  EXPECT_FALSE(head->content_length.has_value());
  EXPECT_THAT(head->headers, ElementsAre());
  EXPECT_OK(parse("GET /? HTTP/1.1\r\nHost:\r\n\r\n")) << "a Host may be empty";
  EXPECT_OK(parse("GET /a?b?c/d HTTP/1.1\r\nhOsT: x\r\n\r\n"));
}

TEST(RequestHead, KnowsWhetherTheConnectionGoesOn) {
  const auto goes_on = [](const std::string& version, const std::string& headers) {
    return parse("GET / " + version + "\r\nHost: x\r\n" + headers + "\r\n").value().keep_alive;
  };
  EXPECT_TRUE(goes_on("HTTP/1.1", ""));
  EXPECT_TRUE(goes_on("HTTP/1.1", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(goes_on("HTTP/1.1", "Connection: close\r\n"));
  EXPECT_FALSE(goes_on("HTTP/1.1", "connection: foo, CLOSE\r\n"));
  EXPECT_FALSE(goes_on("HTTP/1.0", ""));
  EXPECT_TRUE(goes_on("HTTP/1.0", "Connection: Keep-Alive\r\n"));
}

TEST(RequestHead, KnowsWhetherTheClientWaitsBeforeItsBody) {
  const auto waits = [](const std::string& value) {
    return parse("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: " + value + "\r\n\r\n")
        .value()
        .expects_continue;
  };
  EXPECT_TRUE(waits("100-continue"));
  EXPECT_TRUE(waits("100-Continue"));
  EXPECT_FALSE(waits("200-ok"));
}

TEST(RequestHead, MayHaveLimitsToTheVeryByte) {
  const std::string target = "/" + std::string(kTargetBytesMax - 1, 'a');
  EXPECT_OK(parse("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_ERROR(parse("GET " + target + "a HTTP/1.1\r\nHost: x\r\n\r\n"), ErrorCode::too_large, "2048 bytes");

  std::string lines;
  for (size_t i = 1; i < kHeadersMax; ++i) lines += "X: y\r\n";
  EXPECT_OK(parse("GET / HTTP/1.1\r\nHost: x\r\n" + lines + "\r\n"));
  EXPECT_ERROR(parse("GET / HTTP/1.1\r\nHost: x\r\n" + lines + "X: y\r\n\r\n"), ErrorCode::too_large, "100 header");

  const std::string begin = "GET / HTTP/1.1\r\nHost: x\r\n", end = "\r\n\r\n";
  std::string filled = begin;
  for (int i = 0; i < 3; ++i) filled += "F: " + std::string(4000, 'f') + "\r\n";
  filled += "F: " + std::string(kHeadBytesMax - filled.size() - 3 - end.size(), 'f') + end;
  ASSERT_EQ(filled.size(), kHeadBytesMax);
  EXPECT_OK(parse(filled));
  filled.insert(filled.size() - end.size(), "f");
  EXPECT_ERROR(parse(filled), ErrorCode::too_large, "16 KiB");
}

TEST(RequestHead, EndsWithItsFirstEmptyLine) {
  const auto end = [](std::string_view text) { return find_head_end(as_bytes(text)); };
  EXPECT_EQ(end(""), 0u);
  EXPECT_EQ(end("GET / HTTP/1.1\r\n"), 0u);
  EXPECT_EQ(end("GET / HTTP/1.1\r\n\r"), 0u);
  EXPECT_EQ(end("GET / HTTP/1.1\r\n\r\n"), 18u);
  EXPECT_EQ(end("GET / HTTP/1.1\r\n\r\nbody\r\n\r\n"), 18u);
  EXPECT_EQ(end("GET / HTTP/1.1\n\n"), 0u);
}

TEST(RequestHead, CutAnywhereIsNoHead) {
  const std::string whole = "POST /v1/checkins HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n";
  ASSERT_OK(parse(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(find_head_end(as_bytes(whole.substr(0, size))), 0u) << size;
    EXPECT_ERROR(parse(whole.substr(0, size)), ErrorCode::malformed, "request: ") << size;
  }
  EXPECT_ERROR(parse(whole + "x"), ErrorCode::malformed, "") << "and nothing of the body belongs to it";
  EXPECT_ERROR(parse(whole + whole), ErrorCode::malformed, "");
}

// No byte but those of RFC 9112 may stand anywhere: every head that differs in one byte is checked for what
// it claims.
TEST(RequestHead, WithOneByteChangedHasNoControlCharactersInAnyField) {
  const std::string whole = "PUT /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-A: b c\r\n\r\n";
  size_t taken = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      const auto head = parse(changed);
      if (!head) continue;
      ++taken;
      const auto clean = [](std::string_view text) {
        return std::none_of(text.begin(), text.end(),
                            [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
      };
      EXPECT_TRUE(clean(head->method) && clean(head->target)) << changed;
      EXPECT_EQ(head->path.find_first_of("%\\#\" \t"), std::string::npos) << changed;
      for (const auto& [name, value] : head->headers) {
        EXPECT_TRUE(clean(name) && clean(value)) << changed;
        EXPECT_EQ(name.find_first_of(" \t:"), std::string::npos) << changed;
      }
      EXPECT_EQ(head->content_length.has_value(), !head->header("content-length").empty()) << changed;
    }
  }
  EXPECT_GT(taken, 1000u);
}

}  // namespace
}  // namespace coterie

// Heads that are refused, with the status their sender is told (RFC 9110, RFC 9112, and the header's own
// strictness).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fl_server/net/request_head.h"

namespace coterie {
namespace {

struct Refusal {
  std::string head;
  int status;
};

int status_of(const std::string& head) {
  const auto parsed = parse_request_head(as_bytes(head));
  if (parsed) return 200;
  return parsed.error().code() == ErrorCode::too_large ? 431 : traits(parsed.error().code()).http_status;
}

std::string printable(const std::string& text) {
  std::string shown;
  for (unsigned char c : text.substr(0, 200)) {
    if (c >= 0x20 && c < 0x7f) shown += static_cast<char>(c);
    else shown += "\\x" + to_hex({&c, 1});
  }
  return shown;
}

void expect_all(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(status_of(refusal.head), refusal.status) << printable(refusal.head);
  }
}

// "GET / HTTP/1.1" with these lines behind its Host.
std::string with(const std::string& lines) { return "POST /a HTTP/1.1\r\nHost: x\r\n" + lines + "\r\n"; }
std::string get(const std::string& target) { return "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"; }
std::string nul(std::string text) {
  for (char& c : text) c = c == '$' ? '\0' : c;
  return text;
}

TEST(RequestHeadRefusal, TheseAreTakenSoThatTheOthersAreRefusedForTheirFault) {
  expect_all({{with(""), 200}, {get("/"), 200}, {with("Content-Length: 5\r\n"), 200}, {with("X: $\r\n"), 200}});
}

TEST(RequestHeadRefusal, RequestLinesThatAreNone) {
  expect_all({
      {"", 400},
      {"\r\n\r\n", 400},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET / \r\nHost: x\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /  HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET\t/\tHTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {" GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
      {"GET / HTTP/1.1 extra\r\nHost: x\r\n\r\n", 400},
      {" / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"HTTP/1.1 200 OK\r\nHost: x\r\n\r\n", 400},
      {"\x16\x03\x01\x02\r\n\r\n", 400},
      {nul("GET / HTTP/1.1$\r\nHost: x\r\n\r\n"), 400},
  });
}

TEST(RequestHeadRefusal, MethodsThatAreNoTokens) {
  expect_all({
      {"G@T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET: / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GE(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"\"GET\" / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"G\xc3\x89T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {nul("G$T / HTTP/1.1\r\nHost: x\r\n\r\n"), 400},
      {"G\x7fT / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
  });
}

TEST(RequestHeadRefusal, VersionsThatAreNotSpoken) {
  for (const char* version :
       {"HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9", "HTTP/1", "HTTP/1.", "HTTP/1.10", "HTTP/01.1",
        "HTTP/1,1", "http/1.1", "Http/1.1", "HTTPS/1.1", "HTTP 1.1", "HTTP/x.y", "1.1"}) {
    EXPECT_EQ(status_of("GET / " + std::string(version) + "\r\nHost: x\r\n\r\n"), 400) << version;
  }
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 400);
}

TEST(RequestHeadRefusal, TargetsThatAreNotAbsoluteAndPlain) {
  for (const char* target : {"*",       "a",      "a/b",          "x:443",     "http://x/a",  "https://evil/healthz",
                             "//x/a",   "/a//b",  "/.",           "/..",       "/../a",       "/a/..",
                             "/a/../b", "/a/./b", "/.hidden",     "/a/.%2e/b", "/%2e%2e/a",   "/a%2fb",
                             "/%00",    "/a%",    "/a b",         "/a\\b",     "/a\"b",       "/<a>",
                             "/{a}",    "/a|b",   "/a^b",         "/a`b",      "/a#b",        "/a;b",
                             "/a@b",    "/a,b",   "/caf\xc3\xa9", "/a?b#c",    "/a?\xc3\xa9", "/a?\x7f",
                             "/a?b\tc", "/a?b c", "?a=b",         "/a\x01",    "/a?\x01",     "/\x80"}) {
    EXPECT_EQ(status_of(get(target)), 400) << target;
  }
  expect_all({{get(nul("/a$b")), 400},
              {get(nul("/a?$")), 400},
              {get("/" + std::string(2048, 'a')), 431},
              {get("/?" + std::string(2047, 'a')), 431}});
}

TEST(RequestHeadRefusal, LengthsThatAreNotOneNumber) {
  for (const char* value : {"", "-1", "+5", "1e3", "0x10", "5,5", "5, 5", "5,", "5 5", "5a", "a", "5.0",
                            "18446744073709551616", "99999999999999999999999999", "\"5\"", "5;5", "\xd9\xa5"}) {
    EXPECT_EQ(status_of(with("Content-Length: " + std::string(value) + "\r\n")), 400) << value;
  }
  expect_all({
      {with("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
      {with("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
      {with("Content-Length: 5\r\nCONTENT-LENGTH: 5\r\n"), 400},
      {with("Content-Length : 5\r\n"), 400},
      {with("Content-Length: 5\r\n 6\r\n"), 400},
      {with(nul("Content-Length: 5$\r\n")), 400},
  });
}

TEST(RequestHeadRefusal, TransferEncodings) {
  expect_all({
      {with("Transfer-Encoding: chunked\r\n"), 411},
      {with("transfer-encoding: CHUNKED\r\n"), 411},
      {with("Transfer-Encoding: gzip, chunked\r\n"), 411},
      {with("Transfer-Encoding: identity\r\n"), 411},
      {with("Transfer-Encoding: xchunked\r\n"), 411},
      {with("Transfer-Encoding:\r\n"), 411},
      {with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
      {with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
      {with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {with("Transfer-Encoding : chunked\r\n"), 400},
      {with("Transfer-Encoding: \x0b"
            "chunked\r\n"),
       400},
      {with("Transfer-Encoding:\r\n chunked\r\n"), 400},
  });
}

TEST(RequestHeadRefusal, HostsThatAreMissingOrTwo) {
  expect_all({
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nX-Host: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: x\r\nhost: y\r\n\r\n", 400},
  });
}

TEST(RequestHeadRefusal, TwoWordsOnWhoSends) {
  expect_all({{with("Authorization: Bearer a\r\nauthorization: Bearer b\r\n"), 400},
              {with("Authorization:\r\nAuthorization: Bearer b\r\n"), 400},
              {with("Coterie-Device: aa\r\nX: y\r\ncoterie-device: bb\r\n"), 400},
              {with("Coterie-Signature: aa\r\nCoterie-Signature: aa\r\n"), 400},
              {with("Coterie-Device: aa\r\nCoterie-Nonce: bb\r\nAuthorization: c\r\nX: 1\r\nX: 2\r\n"), 200}});
}

TEST(RequestHeadRefusal, LinesThatAreNoHeaders) {
  expect_all({
      {with("no colon\r\n"), 400},
      {with(": no name\r\n"), 400},
      {with("Na me: x\r\n"), 400},
      {with("Name : x\r\n"), 400},
      {with("Name\t: x\r\n"), 400},
      {with("N(a)me: x\r\n"), 400},
      {with("N\xc3\xa4me: x\r\n"), 400},
      {with(nul("Na$me: x\r\n")), 400},
      {with("Name: a\r\n b\r\n"), 400},
      {with("Name: a\r\n\tb\r\n"), 400},
      {"GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
      {with("Name: a\r\n \r\n"), 400},
      {with(nul("Name: a$b\r\n")), 400},
      {with("Name: a\x01"
            "b\r\n"),
       400},
      {with("Name: a\x7f"
            "b\r\n"),
       400},
      {with("Name: a\x1b[31mb\r\n"), 400},
      {with("Connection: close,,\x01\r\n"), 400},
  });
}

TEST(RequestHeadRefusal, LinesThatDoNotEndWithCrLf) {
  expect_all({
      {"GET / HTTP/1.1\nHost: x\n\n", 400},
      {"GET / HTTP/1.1\nHost: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\r\n\n", 400},
      {"GET / HTTP/1.1\rHost: x\r\r", 400},
      {with("A: b\rC: d\r\n"), 400},
      {with("A: b\nTransfer-Encoding: chunked\r\n"), 400},
      {with("A: b\r\r\n"), 400},
      {with("A: b\n\r\n"), 400},
      {"GET / HTTP/1.1\r\nHost: x\r\n\r", 400},
      {"GET / HTTP/1.1\r\r\nHost: x\r\n\r\n", 400},
  });
}

TEST(RequestHeadRefusal, HeadsThatAreTooLarge) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += "A: b\r\n";
  expect_all({
      {with("A: " + std::string(20'000, 'b') + "\r\n"), 431},
      {with(std::string(20'000, 'A') + ": b\r\n"), 431},
      {std::string(20'000, 'G') + " / HTTP/1.1\r\nHost: x\r\n\r\n", 431},
      {std::string(20'000, '\r'), 431},
      {with(many), 431},
  });
}

}  // namespace
}  // namespace coterie

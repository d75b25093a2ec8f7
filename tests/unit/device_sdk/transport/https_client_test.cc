// Requests and answers over a real TLS connection, and every way in which one can end too early or too late.
#include <gtest/gtest.h>

#include <future>

#include "tests/unit/device_sdk/transport/https_fixture.h"

namespace coterie::test {
namespace {

using HttpsClientTest = HttpsTest;

constexpr size_t kLargeBody = 200'000;  // over the size from which the client asks before it sends

TransportRequest put(ByteView body) {
  return {.method = "PUT", .target = "/up", .headers = {{"X-One", "1"}}, .content_type = "text/plain", .body = body};
}

TEST_F(HttpsClientTest, SendsTheRequestAsItIsToldAndReturnsTheAnswer) {
  std::string head, body;
  serve({[&](ServerConnection& connection) {
    head = connection.read_head();
    body = connection.read_body(5);
    connection.write("HTTP/1.1 404 Nope\r\nX-Reason: Because\r\nContent-Length: 3\r\n\r\nno!");
    connection.drain();
  }});
  const auto answer = send(put(as_bytes("hello")));
  ASSERT_OK(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->header("x-reason"), "Because");
  EXPECT_EQ(answer->body_bytes, 3u);
  EXPECT_EQ(body_, "no!");
  const std::string host = "127.0.0.1:" + std::to_string(server_->port());
  server_.reset();
  EXPECT_EQ(head, "PUT /up HTTP/1.1\r\nHost: " + host +
                      "\r\nX-One: 1\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\n");
  EXPECT_EQ(body, "hello");
}

TEST_F(HttpsClientTest, KeepsOneConnectionForAllRequests) {
  serve({echo_targets(10)});
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(get("/" + std::to_string(i)));
    EXPECT_EQ(body_, "/" + std::to_string(i));
  }
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpsClientTest, ConnectsAgainWhenTheServerHasClosedAnIdleConnection) {
  serve({reply_once(answer_of("one")), reply_once(answer_of("two")),
         reply_once(answer_of("three", "Connection: close\r\n")), reply_once(answer_of("four"))});
  for (const char* expected : {"one", "two", "three", "four"}) {
    ASSERT_OK(get("/"));
    EXPECT_EQ(body_, expected);
  }
  EXPECT_EQ(server_->connections(), 4);
}

TEST_F(HttpsClientTest, RepeatsARequestThatAKeptConnectionLostUnseenButNotOnAFreshOne) {
  const auto answer_then_cut = [](ServerConnection& connection) {
    connection.read_head();
    connection.write(answer_of("one"));
    connection.read_head();
    connection.cut();
  };
  const auto cut = [](ServerConnection& connection) {
    connection.read_head();
    connection.cut();
  };
  serve({answer_then_cut, cut, echo_targets(1)});
  ASSERT_OK(get("/"));
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "lost");
  EXPECT_EQ(server_->connections(), 2) << "once more, not for ever";
  EXPECT_OK(get("/again"));
}

TEST_F(HttpsClientTest, ABodyShorterThanAnnouncedIsAnErrorAndNotRepeated) {
  serve({reply_once("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), echo_targets(1)});
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "closed the connection");
  EXPECT_EQ(body_, "12345");
  EXPECT_EQ(server_->connections(), 1);
  EXPECT_OK(get("/next"));
}

TEST_F(HttpsClientTest, AConnectionCutInTheMiddleOfABodyIsAnError) {
  serve({[](ServerConnection& connection) {
    connection.read_head();
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + std::string(50'000, 'x'));
    connection.cut();
  }});
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "lost");
}

TEST_F(HttpsClientTest, AConnectionCutInTheMiddleOfABodyIsNotRepeatedOnAKeptConnectionEither) {
  serve({[](ServerConnection& connection) {
           connection.read_head();
           connection.write(answer_of("one"));
           connection.read_head();
           connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
           connection.cut();
         },
         echo_targets(1)});
  ASSERT_OK(get("/"));
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "lost");
  EXPECT_EQ(body_, "12345") << "no byte of a body may come twice";
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpsClientTest, WhatFollowsABodyIsNeverTheAnswerToTheNextRequest) {
  std::promise<void> written;
  serve({[](ServerConnection& connection) {
           connection.read_head();
           connection.write(answer_of("one") + answer_of("smuggled"));  // read together
           connection.drain();
         },
         [&](ServerConnection& connection) {
           connection.read_head();
           connection.write(answer_of("two"));
           connection.write(answer_of("smuggled"));  // still in the socket when the next request is made
           written.set_value();
           connection.drain();
         },
         echo_targets(1)});
  ASSERT_OK(get("/"));
  EXPECT_EQ(body_, "one");
  ASSERT_OK(get("/"));
  EXPECT_EQ(body_, "two");
  written.get_future().wait();
  ASSERT_OK(get("/honest"));
  EXPECT_EQ(body_, "/honest");
}

TEST_F(HttpsClientTest, AnAnswerCutInItsHeadIsAnError) {
  serve({reply_once("HTTP/1.1 200 OK\r\nContent-Le")});
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "closed the connection");
}

TEST_F(HttpsClientTest, AnswersThatAreNotHttpOrHaveNoEndAreMalformed) {
  for (const std::string& text : {std::string("SSH-2.0-OpenSSH\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\n\r\nbody"),
                                  "HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'),
                                  std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    serve({reply_once(text)});
    EXPECT_ERROR(get("/"), ErrorCode::malformed, "") << text.substr(0, 60);
  }
}

TEST_F(HttpsClientTest, ReadsChunkedBodiesAndAnswersWithoutOne) {
  serve({[](ServerConnection& connection) {
    connection.read_head();
    connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel");
    connection.write("lo\r\n6;x=y\r\n world\r\n0\r\n\r\n");
    connection.read_head();
    connection.write("HTTP/1.1 204 No Content\r\n\r\n");
    connection.read_head();
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    connection.read_head();
    connection.write(answer_of("last"));
    connection.drain();
  }});
  const auto chunked = get("/");
  ASSERT_OK(chunked);
  EXPECT_EQ(body_, "hello world");
  EXPECT_EQ(chunked->body_bytes, 11u);
  const auto empty = get("/");
  ASSERT_OK(empty);
  EXPECT_EQ(empty->status, 204);
  ASSERT_OK(send({.method = "HEAD", .target = "/", .headers = {}, .content_type = {}, .body = {}}));
  EXPECT_EQ(body_, "");
  ASSERT_OK(get("/"));
  EXPECT_EQ(body_, "last");
  EXPECT_EQ(server_->connections(), 1);
}

TEST_F(HttpsClientTest, AsksBeforeItSendsALargeBody) {
  const Bytes body(kLargeBody, 'b');
  std::string head, received;
  serve({[&](ServerConnection& connection) {
    head = connection.read_head();
    connection.write("HTTP/1.1 100 Continue\r\n\r\n");
    received = connection.read_body(kLargeBody);
    connection.write(answer_of("taken"));
    connection.drain();
  }});
  ASSERT_OK(send(put(body)));
  EXPECT_EQ(body_, "taken");
  server_.reset();
  EXPECT_NE(head.find("Expect: 100-continue\r\n"), std::string::npos);
  EXPECT_EQ(received, std::string(kLargeBody, 'b'));
}

TEST_F(HttpsClientTest, DoesNotSendALargeBodyThatIsRefused) {
  const Bytes body(kLargeBody, 'b');
  serve({[](ServerConnection& connection) {
           connection.read_head();
           connection.write("HTTP/1.1 409 Conflict\r\nContent-Length: 4\r\n\r\nover");
           connection.drain();
         },
         echo_targets(1)});
  const auto answer = send(put(body));
  ASSERT_OK(answer);
  EXPECT_EQ(answer->status, 409);
  EXPECT_EQ(body_, "over");
  ASSERT_OK(get("/next"));
  EXPECT_EQ(body_, "/next");
  EXPECT_EQ(server_->connections(), 2) << "a connection with a body owed cannot go on";
}

TEST_F(HttpsClientTest, SendsALargeBodyInTheEndToAServerThatKnowsNoContinue) {
  const Bytes body(kLargeBody, 'b');
  std::promise<size_t> received;
  serve({[&](ServerConnection& connection) {
    connection.read_head();
    received.set_value(connection.read_body(kLargeBody).size());
    connection.drain();
  }});
  TransportRequest request = put(body);
  request.answer_max = Millis(10);
  EXPECT_ERROR(send(request), ErrorCode::timed_out, "in time") << "this server never answers";
  EXPECT_EQ(received.get_future().get(), kLargeBody);
}

TEST_F(HttpsClientTest, InterimAnswersAreSkipped) {
  serve({[](ServerConnection& connection) {
    connection.read_head();
    connection.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" +
                     answer_of("final"));
    connection.drain();
  }});
  const auto answer = get("/");
  ASSERT_OK(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(body_, "final");
}

TEST_F(HttpsClientTest, AServerThatSaysNothingTimesOut) {
  serve({[](ServerConnection& connection) { connection.drain(); }, echo_targets(1)});
  EXPECT_ERROR(get("/", Millis(10)), ErrorCode::timed_out, "did not answer in time");
  EXPECT_OK(get("/next"));
}

TEST_F(HttpsClientTest, ACancelEndsARequestThatIsHeldByTheServer) {
  serve({[this](ServerConnection& connection) {
    connection.read_head();
    cancelled_ = true;
    connection.drain();
  }});
  EXPECT_ERROR(get("/"), ErrorCode::cancelled, "cancelled by the app");
  EXPECT_ERROR(get("/"), ErrorCode::cancelled, "cancelled by the app");
}

TEST_F(HttpsClientTest, ReadsAnAnswerWithoutALengthToTheEndWhereItIsToldTo) {
  const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
  const auto in_two = [&](ServerConnection& connection) {
    connection.read_head();
    connection.write(head + "one ");
    connection.write("two");
  };
  const auto cut = [&](ServerConnection& connection) {
    connection.read_head();
    connection.write(head + "one");
    connection.cut();
  };
  serve({in_two, in_two, echo_targets(1), cut, reply_once(head)});
  EXPECT_ERROR(get("/"), ErrorCode::malformed, "no length");
  HttpsClientSettings settings;
  settings.url = "https://127.0.0.1:" + std::to_string(server_->port());
  settings.ca_pem = ca_.certificate;
  settings.reads_to_end = true;
  connect_with(settings);
  const auto answer = get("/");
  ASSERT_OK(answer);
  EXPECT_EQ(body_, "one two");
  EXPECT_EQ(answer->body_bytes, 7u);
  ASSERT_OK(get("/next"));
  EXPECT_EQ(body_, "/next") << "on a connection of its own";
  client_->disconnect();
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "lost");
  EXPECT_EQ(body_, "one");
  ASSERT_OK(get("/"));
  EXPECT_EQ(body_, "");
}

TEST_F(HttpsClientTest, AnErrorOfTheSinkEndsTheTransferAndIsTheResult) {
  serve({reply_once(answer_of(std::string(100'000, 'x'))), echo_targets(1)});
  const TransportRequest request{.method = "GET", .target = "/", .headers = {}, .content_type = {}, .body = {}};
  const auto full = [](const TransportResponse&, ByteView) -> Status { return Error(ErrorCode::storage_full, "full"); };
  EXPECT_ERROR(client_->send(request, full), ErrorCode::storage_full, "full");
  ASSERT_OK(get("/next"));
  EXPECT_EQ(body_, "/next");
}

}  // namespace
}  // namespace coterie::test

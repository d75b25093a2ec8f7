// Servers that the client talks to, and those that it does not.
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/transport/https_fixture.h"

namespace coterie::test {
namespace {

class HttpsTrust : public HttpsTest {
 protected:
  HttpsClientSettings settings(const std::string& host, const std::string& ca_pem) const {
    HttpsClientSettings result;
    result.url = "https://" + host + ":" + std::to_string(server_->port());
    result.ca_pem = ca_pem;
    return result;
  }
};

TEST_F(HttpsTrust, TalksToTheServerThatItsAuthorityVouchesFor) {
  serve({echo_targets(1)});
  ASSERT_OK(get("/hello"));
  EXPECT_EQ(body_, "/hello");
}

TEST_F(HttpsTrust, ANameIsCheckedAsANameAndAnAddressAsAnAddress) {
  serve({echo_targets(1), echo_targets(1)}, {"localhost"});
  EXPECT_ERROR(get("/"), ErrorCode::unauthenticated, "not trusted");
  connect_with(settings("localhost", ca_.certificate));
  EXPECT_OK(get("/"));
}

TEST_F(HttpsTrust, RefusesACertificateOfAnotherAuthority) {
  serve({echo_targets(1)});
  connect_with(settings("127.0.0.1", make_dev_ca(os::wall_now(), 30)->certificate));
  EXPECT_ERROR(get("/"), ErrorCode::unauthenticated, "check the CA file");
  EXPECT_EQ(server_->connections(), 1) << "and does not try again behind the app's back";
}

TEST_F(HttpsTrust, RefusesTheSystemsAuthoritiesForACertificateTheyDoNotKnow) {
  serve({echo_targets(1)});
  connect_with(settings("127.0.0.1", ""));
  EXPECT_ERROR(get("/"), ErrorCode::unauthenticated, "not trusted");
}

TEST_F(HttpsTrust, RefusesACertificateOfAnotherHost) {
  serve({echo_targets(1)}, {"fl.example.org", "127.0.0.2"});
  EXPECT_ERROR(get("/"), ErrorCode::unauthenticated, "host name");
  serve({echo_targets(1)}, {"fl.example.org", "127.0.0.1"});
  connect_with(settings("localhost", ca_.certificate));
  EXPECT_ERROR(get("/"), ErrorCode::unauthenticated, "host name");
}

TEST_F(HttpsTrust, RefusesACertificateWhoseTimeIsOver) {
  const WallTime long_ago = os::wall_now() - Millis(100ll * 24 * 3600 * 1000);
  serve_with({*make_server_certificate(ca_, {"127.0.0.1"}, long_ago, 30)}, {echo_targets(1)});
  EXPECT_ERROR(get("/"), ErrorCode::unauthenticated, "expired");
}

TEST_F(HttpsTrust, RefusesTls12) {
  const PemPair certificate = *make_server_certificate(ca_, {"127.0.0.1"}, os::wall_now(), 30);
  serve_with({certificate, TLS1_2_VERSION}, {echo_targets(1)});
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "protocol version");
}

TEST_F(HttpsTrust, SaysThatNobodyListens) {
  serve({});
  const HttpsClientSettings gone = settings("127.0.0.1", ca_.certificate);
  server_.reset();
  connect_with(gone);
  EXPECT_ERROR(get("/"), ErrorCode::unavailable, "cannot connect to 127.0.0.1");
}

TEST_F(HttpsTrust, NeedsACertificateInTheAuthoritiesFile) {
  HttpsClientSettings broken{.url = "https://localhost", .ca_pem = "-----BEGIN CERTIFICATE-----\nno\n"};
  EXPECT_ERROR(HttpsClient::make(broken), ErrorCode::invalid_argument, "no PEM certificate");
}

TEST(HttpsUrl, MustBeHttpsAHostAndPerhapsAPort) {
  for (const char* url : {"https://h", "https://h/", "https://h:1", "https://h:65535/", "https://[::1]",
                          "https://[::1]:8443", "https://127.0.0.1:8443", "https://fl.example.org"}) {
    EXPECT_OK(HttpsClient::make({.url = url, .ca_pem = {}})) << url;
  }
  for (const char* url :
       {"", "h", "http://h", "https://", "https://:8443", "https://h:0", "https://h:65536",
        "https://h:", "https://h:80a", "https://h/path", "https://[::1", "https://[::1]8443", "https://[]:1",
        "https://h:1/path", "HTTPS", "ftp://h", "https://a b", "https://h\r\nX: y", "https://u@h"}) {
    EXPECT_ERROR(HttpsClient::make({.url = url, .ca_pem = {}}), ErrorCode::invalid_argument, "https://host:port")
        << url;
  }
}

}  // namespace
}  // namespace coterie::test

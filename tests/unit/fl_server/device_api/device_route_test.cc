// The device plane's table of routes, and who says to have signed a request.
#include "fl_server/device_api/device_route.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(DeviceRoutes, NameEachThingOnceAndHaveAHandler) {
  std::set<std::string> places;
  for (const DeviceRoute& route : device_routes()) {
    EXPECT_TRUE(places.insert(std::string(route.method) + " " + std::string(route.pattern)).second) << route.pattern;
    EXPECT_NE(route.handler, nullptr) << route.pattern;
  }
}

TEST(DeviceRoutes, AreSignedButForEnrollmentAndHealth) {
  std::set<std::string_view> open;
  for (const DeviceRoute& route : device_routes()) {
    if (!route.is_signed) open.insert(route.pattern);
    EXPECT_EQ(route.work.has_value(), route.pattern != "/healthz") << "health alone is answered under any load";
  }
  EXPECT_EQ(open, (std::set<std::string_view>{"/healthz", "/v1/enrollments"}));
}

TEST(FindDeviceRoute, GivesRouteParametersAndWhatTheWorkIsWorth) {
  struct Case {
    const char* method;
    const char* path;
    const char* pattern;
    Work work;
  };
  for (const Case& known :
       {Case{"POST", "/v1/checkins", "/v1/checkins", Work::newcomer},
        Case{"HEAD", "/v1/plans/ab", "/v1/plans/{digest}", Work::download},
        Case{"GET", "/v1/revocations/12", "/v1/revocations/{number}", Work::download},
        Case{"GET", "/v1/ledger/proofs/3/9", "/v1/ledger/proofs/{before}/{size}", Work::download},
        Case{"PUT", "/v1/rounds/7/updates/T", "/v1/rounds/{round}/updates/{ticket}", Work::update},
        Case{"POST", "/v1/rounds/7/session/T", "/v1/rounds/{round}/session/{ticket}", Work::session},
        Case{"GET", "/v1/rounds/7/session/T/roster_view", "/v1/rounds/{round}/session/{ticket}/{what}",
             Work::session}}) {
    const DeviceRouteMatch match = find_device_route(known.method, known.path);
    ASSERT_NE(match.route, nullptr) << known.path;
    EXPECT_EQ(match.route->pattern, known.pattern);
    EXPECT_EQ(match.route->work, known.work) << known.path;
  }
  const std::string path = "/v1/rounds/7/session/T/roster_view";
  const DeviceRouteMatch match = find_device_route("POST", path);
  EXPECT_EQ(match.path["round"], "7");
  EXPECT_EQ(match.path["ticket"], "T");
  EXPECT_EQ(match.path["what"], "roster_view");
}

TEST(FindDeviceRoute, KnowsNothingElse) {
  for (const char* path : {"/", "/v1/plans/", "/v1/plans/a/b", "/v1/rounds/7/updates", "/v1/rounds/7/updates/T/x",
                           "/v1/rounds/7/downloads/T", "/admin/v1/jobs", "/metrics"}) {
    for (const char* method : {"GET", "POST", "PUT"})
      EXPECT_EQ(find_device_route(method, path).route, nullptr) << method << " " << path;
  }
  EXPECT_EQ(find_device_route("DELETE", "/v1/checkins").route, nullptr);
  EXPECT_EQ(find_device_route("GET", "/v1/rounds/7/updates/T").route, nullptr);
}

TEST(ReadClaims, NamesTheHeaderThatIsWrong) {
  RequestHead head;
  head.headers = {{"coterie-device", std::string(32, 'a')},
                  {"coterie-time", "1750000000000"},
                  {"coterie-nonce", std::string(32, '0')},
                  {"coterie-signature", "AAAA"}};
  const auto with = [&](size_t header, const std::string& value) {
    RequestHead changed = head;
    changed.headers[header].second = value;
    return read_claims(changed);
  };
  ASSERT_OK(read_claims(head));
  EXPECT_ERROR(with(0, ""), ErrorCode::unauthenticated, "no Coterie-Device header");
  EXPECT_ERROR(with(1, "1e9"), ErrorCode::malformed, "Coterie-Time");
  EXPECT_ERROR(with(1, ""), ErrorCode::malformed, "Coterie-Time");
  EXPECT_ERROR(with(2, "00"), ErrorCode::malformed, "Coterie-Nonce must have 32 hex digits");
  EXPECT_FALSE(with(3, "?")) << "not base64url";
}

}  // namespace
}  // namespace coterie

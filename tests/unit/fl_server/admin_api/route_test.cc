// The table of routes and what is asked of it.
#include "fl_server/admin_api/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(AdminRoutesTable, NamesEachThingOnce) {
  std::set<std::string> operations, places, actions;
  std::set<AdminHandler> handlers;
  for (const AdminRoute& route : admin_routes()) {
    EXPECT_TRUE(operations.insert(std::string(route.operation)).second) << route.operation;
    EXPECT_TRUE(places.insert(std::string(route.method) + std::string(route.pattern)).second) << route.pattern;
    if (!route.action.empty()) EXPECT_TRUE(actions.insert(std::string(route.action)).second) << route.action;
    EXPECT_FALSE(route.summary.empty()) << route.operation;
    EXPECT_NE(route.handler, nullptr) << route.operation << " has no handler";
    EXPECT_TRUE(handlers.insert(route.handler).second) << route.operation << " has the handler of another operation";
  }
}

// What changes something is in the audit log; what only reads is not; nothing that changes is open.
TEST(AdminRoutesTable, HasAnActionForWhateverChangesSomething) {
  for (const AdminRoute& route : admin_routes()) {
    EXPECT_EQ(route.action.empty(), route.method == "GET") << route.operation;
    if (route.method != "GET") EXPECT_FALSE(route.is_open()) << route.operation;
    if (!route.is_open()) EXPECT_FALSE(route.roles->empty()) << route.operation << " is for nobody";
  }
}

TEST(FindAdminRoute, GivesRouteAndParameters) {
  const RouteMatch found = find_admin_route("HEAD", "/admin/v1/jobs/j1/models/7");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->operation, "getModel");
  EXPECT_EQ(found.pattern, "/admin/v1/jobs/{job}/models/{version}");
  EXPECT_THAT(found.parameters, ElementsAre(Pair("job", "j1"), Pair("version", "7")));
}

TEST(FindAdminRoute, SaysWhichMethodsAPathTakes) {
  const RouteMatch wrong = find_admin_route("DELETE", "/admin/v1/jobs");
  EXPECT_EQ(wrong.route, nullptr);
  EXPECT_EQ(wrong.pattern, "/admin/v1/jobs");
  EXPECT_EQ(wrong.allowed, "GET, POST");
  const RouteMatch nothing = find_admin_route("GET", "/admin/v1/jobs/");
  EXPECT_EQ(nothing.route, nullptr);
  EXPECT_THAT(nothing.pattern, IsEmpty());
  EXPECT_THAT(nothing.allowed, IsEmpty());
}

TEST(CheckRoles, NamesWhoMayAndWhoAsked) {
  const AdminRoute& route = *find_admin_route("POST", "/admin/v1/jobs").route;
  EXPECT_OK(check_roles(route, {Role::viewer, Role::ml_engineer}));
  EXPECT_ERROR(check_roles(route, {Role::viewer, Role::operator_}), ErrorCode::permission_denied,
               "createJob is for ml_engineer; this token has viewer, operator");
  EXPECT_ERROR(check_roles(route, {}), ErrorCode::permission_denied, "no role");
  EXPECT_OK(check_roles(*find_admin_route("GET", "/healthz").route, {}));
}

// A server that stands by knows itself, the fleet and who asks, and has the console's page. It passes on what the
// leader says of jobs as they go, and tells nothing else of jobs: it could only tell what it remembers.
TEST(AdminRoutesTable, SaysWhatAServerThatStandsByAnswers) {
  std::set<std::string_view> answered, passed_on;
  for (const AdminRoute& route : admin_routes()) {
    if (!route.is_served_on_standby(true)) continue;
    (route.is_served_on_standby(false) ? answered : passed_on).insert(route.operation);
    EXPECT_TRUE(route.action.empty()) << route.operation << " changes something";
  }
  EXPECT_THAT(answered, ElementsAre("beginProviderSignIn", "finishProviderSignIn", "getConsole", "getConsoleScript",
                                    "getConsoleStyle", "getHealth", "getMetrics", "getOpenApi", "getReadiness",
                                    "getServer", "getSession", "listNodes", "listSignInWays"));
  EXPECT_THAT(passed_on, ElementsAre("streamAllEvents", "streamEvents"));
}

TEST(RoleSet, IsReadAsItIsWritten) {
  for (const Role role : kRoles) {
    EXPECT_EQ(role_from_name(to_string(role)), role);
    EXPECT_EQ(RoleSet({role}).text(), to_string(role));
    const bool is_of_people = role != Role::node && role != Role::application;
    EXPECT_EQ(kEveryRoleOfPeople.contains(role), is_of_people) << to_string(role);
    EXPECT_EQ(kEveryRoleOfTokens.contains(role), role != Role::node) << to_string(role);
  }
  EXPECT_EQ(role_from_name("root"), std::nullopt);
  EXPECT_FALSE(RoleSet::from_bits(uint64_t{1} << 40).intersects(kEveryRoleOfPeople));
}

}  // namespace
}  // namespace coterie

// Who gets through the admin plane with which token, asked over real connections: the matrix of roles and
// routes, and the life of named tokens.
#include <gmock/gmock.h>

#include <regex>

#include "fl_server/admin_api/route.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

class AdminAccess : public test::AdminServerTest {
 protected:
  json create(const json& body) {
    const Answer made = ask("POST", "/admin/v1/tokens", body.dump());
    EXPECT_EQ(made.status, 201) << made.body;
    return made.document();
  }
  std::string token_of(Role role) {
    return create({{"label", to_string(role)}, {"roles", {to_string(role)}}})["token"];
  }
};

// A path of this pattern that names nothing that exists.
std::string example_of(std::string_view pattern) {
  return std::regex_replace(std::string(pattern), std::regex("\\{[a-z_]+\\}"), "0000000000000000");
}

// Every role x every route: 403 where the golden table says no (authorization_matrix_test.cc holds the table
// of routes to it), and anything else where it says yes. Nothing that is asked changes anything: the targets
// do not exist, the bodies are wrong.
TEST_F(AdminAccess, IsForbiddenToExactlyThoseRolesThatTheTableSays) {
  size_t asked = 0;
  for (const Role role : kRoles) {
    if (role == Role::node) continue;  // no token of this plane has it
    const std::string bearer = "Bearer " + token_of(role);
    for (const AdminRoute& route : admin_routes()) {
      const std::string body = route.body == AdminBody::none ? "" : "[";
      // A stream that has no job to end with is asked for with a query, which it does not take.
      const std::string query = route.operation == "streamAllEvents" ? "?none" : "";
      const Answer answer = ask_as(bearer, route.method, example_of(route.pattern) + query, body);
      EXPECT_EQ(answer.status == 403, !route.allows({role}))
          << route.operation << " for " << to_string(role) << ": " << answer.body;
      EXPECT_NE(answer.status, 401) << route.operation;
      if (answer.status == 403) {
        EXPECT_EQ(answer.document()["code"], "permission_denied") << route.operation;
        EXPECT_EQ(answer.head.header("content-type"), "application/problem+json") << route.operation;
      }
      ++asked;
    }
  }
  EXPECT_EQ(asked, admin_routes().size() * (kRoles.size() - 1));
}

TEST_F(AdminAccess, ShowsATokenOnceAndTakesItAtOnce) {
  const json made = create({{"label", "dashboard"}, {"roles", {"viewer"}}, {"valid_seconds", 60}});
  const std::string secret = made["token"], id = made["id"];
  EXPECT_THAT(secret, testing::StartsWith("cota_" + id + "_"));
  EXPECT_EQ(made["created_by"], "admin-token");
  EXPECT_EQ(made["roles"], json({"viewer"}));
  const Answer list = ask("GET", "/admin/v1/tokens");
  EXPECT_EQ(list.document()["tokens"].size(), 1u);
  EXPECT_THAT(list.body, testing::Not(testing::HasSubstr(secret.substr(secret.size() - 43))));
  EXPECT_THAT(list.body, testing::Not(testing::HasSubstr("argon2")));

  EXPECT_EQ(ask_as("Bearer " + secret, "GET", "/admin/v1/jobs").status, 200);
  EXPECT_EQ(ask_as("Bearer " + secret, "GET", "/admin/v1/jobs").status, 200) << "remembered";
  EXPECT_EQ(ask("DELETE", "/admin/v1/tokens/" + id).status, 204);
  EXPECT_EQ(ask_as("Bearer " + secret, "GET", "/admin/v1/jobs").status, 401) << "and forgotten at once";
  EXPECT_EQ(ask("DELETE", "/admin/v1/tokens/" + id).status, 404);
}

TEST_F(AdminAccess, KeepsTokensOverARestartAndOnlyTheirHashes) {
  const std::string secret = create({{"label", "ops"}, {"roles", {"operator", "viewer"}}})["token"];
  server_.reset();
  SetUp();
  EXPECT_EQ(ask_as("Bearer " + secret, "GET", "/admin/v1/devices").status, 200);
  for (const char* name : {"coterie.sqlite3", "coterie.sqlite3-wal"}) {
    const std::string file(as_text(os::read_file(directory_ / "data" + "/" + name, 100 << 20).value_or(Bytes())));
    EXPECT_THAT(file, testing::Not(testing::HasSubstr(secret.substr(secret.size() - 43)))) << name;
  }
}

TEST_F(AdminAccess, NamesEverythingThatIsWrongWithAToken) {
  const Answer wrong = ask("POST", "/admin/v1/tokens",
                           R"({"label": "", "roles": ["viewer", "root", "node"], "valid_seconds": 0, "x": 1})");
  EXPECT_EQ(wrong.status, 400);
  std::vector<std::string> pointers;
  const json document = wrong.document();
  for (const json& error : document["errors"]) pointers.push_back(error["pointer"]);
  EXPECT_THAT(pointers, testing::UnorderedElementsAre("/label", "/roles/1", "/roles/2", "/valid_seconds", "/x"));
  EXPECT_EQ(ask("POST", "/admin/v1/tokens", R"({"label": "x"})").document()["errors"][0]["pointer"], "/roles");
  EXPECT_EQ(ask("POST", "/admin/v1/tokens", "{").status, 400);
  EXPECT_EQ(ask("GET", "/admin/v1/tokens").document()["tokens"], json::array());
}

// Hashes for strangers are limited (admin_authenticator_test.cc); who is known does not notice.
TEST_F(AdminAccess, IsOpenToTheKnownWhileStrangersTryManySecrets) {
  const std::string secret = create({{"label", "ops"}, {"roles", {"viewer"}}})["token"];
  ASSERT_EQ(ask_as("Bearer " + secret, "GET", "/admin/v1/jobs").status, 200);
  std::string wrong = secret;
  wrong[wrong.size() - 2] = wrong[wrong.size() - 2] == 'A' ? 'B' : 'A';
  for (int i = 0; i < 20; ++i) {
    const Answer answer = ask_as("Bearer " + wrong, "GET", "/admin/v1/jobs");
    EXPECT_TRUE(answer.status == 401 || answer.status == 429) << answer.status;
    EXPECT_EQ(ask_as("Bearer " + secret, "GET", "/admin/v1/jobs").status, 200) << "remembered";
  }
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").status, 200) << "the token of the data directory is never hashed";
}

}  // namespace
}  // namespace coterie

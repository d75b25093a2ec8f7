// Every role x every route: the golden table beside this file says yes or no to each, and the table of routes
// agrees. A new route without a row, a row without a route and a new role without a column fail.
#include <gtest/gtest.h>

#include <string>

#include <map>
#include <sstream>

#include "base/os/file.h"
#include "fl_server/admin_api/route.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie {
namespace {

std::string matrix_file() { return test::source_dir() + "/tests/unit/fl_server/admin_api/authorization_matrix.txt"; }

// operation -> role -> "yes", "no" or "open".
using Matrix = std::map<std::string, std::map<std::string, std::string>>;

Matrix read_matrix() {
  const Result<Bytes> file = os::read_file(matrix_file(), 1 << 20);
  EXPECT_OK(file);
  std::istringstream lines{std::string(as_text(file.value_or(Bytes())))};
  Matrix matrix;
  std::vector<std::string> roles;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string operation;
    words >> operation;
    if (operation == "operation") {
      for (std::string role; words >> role;) roles.push_back(role);
      continue;
    }
    EXPECT_FALSE(matrix.contains(operation)) << operation << " has two rows";
    for (const std::string& role : roles) words >> matrix[operation][role];
  }
  return matrix;
}

TEST(AuthorizationMatrix, HasEveryCellAsTheTableOfRoutesDecides) {
  Matrix matrix = read_matrix();
  size_t cells = 0;
  for (const AdminRoute& route : admin_routes()) {
    auto row = matrix.extract(std::string(route.operation));
    ASSERT_FALSE(row.empty()) << route.operation << " has no row in " << matrix_file();
    EXPECT_EQ(row.mapped().size(), kRoles.size()) << route.operation;
    for (const Role role : kRoles) {
      const std::string expected = row.mapped()[std::string(to_string(role))];
      const std::string decided = route.is_open() ? "open" : route.allows({role}) ? "yes" : "no";
      EXPECT_EQ(decided, expected) << route.operation << " for " << to_string(role);
      EXPECT_EQ(check_roles(route, {role}).has_value(), decided != "no")
          << route.operation << " for " << to_string(role);
      ++cells;
    }
  }
  EXPECT_EQ(cells, admin_routes().size() * kRoles.size());
  for (const auto& [operation, row] : matrix) ADD_FAILURE() << operation << " has a row and is no route";
}

// A caller without a role is nobody, whatever else he has shown.
TEST(AuthorizationMatrix, GivesNothingToNoRoleAndNothingToNodesAndApplications) {
  for (const AdminRoute& route : admin_routes()) {
    EXPECT_EQ(route.allows({}), route.is_open()) << route.operation;
    EXPECT_EQ(route.allows({Role::node}), route.is_open()) << route.operation;
    EXPECT_EQ(route.allows({Role::application}), route.is_open()) << route.operation;
    EXPECT_TRUE(route.allows(kEveryRoleOfPeople)) << route.operation << ": one-machine use needs it";
  }
}

}  // namespace
}  // namespace coterie

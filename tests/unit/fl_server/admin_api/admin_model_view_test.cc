// What a version of a model is made of, over the admin plane.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

class AdminModelView : public test::AdminServerTest {
 protected:
  void SetUp() override {
    AdminServerTest::SetUp();
    job_ = "/admin/v1/jobs/" + create_job({{"name", "n"}});
  }
  std::string job_;
};

TEST_F(AdminModelView, TellsTheGraph) {
  const Answer told = ask("GET", job_ + "/models/0/graph");
  ASSERT_EQ(told.status, 200) << told.body;
  const json graph = told.document();
  EXPECT_EQ(graph["name"], "small");
  EXPECT_EQ(graph["version"], 0);
  EXPECT_EQ(graph["digest"], ask("GET", job_ + "/models/0").document()["digest"]);
  ASSERT_EQ(graph["ops"].size(), 1u);
  EXPECT_EQ(graph["ops"][0]["kind"], "dense");
  EXPECT_EQ(graph["values"], 9);
  headers_ = {{"If-None-Match", std::string(told.head.header("etag"))}};
  EXPECT_EQ(ask("GET", job_ + "/models/0/graph").status, 304);
}

TEST_F(AdminModelView, TellsWhatParametersAreLikeAPageAtATime) {
  const json first = ask("GET", job_ + "/models/0/parameters?limit=1").document();
  ASSERT_EQ(first["parameters"].size(), 1u);
  EXPECT_EQ(first["parameters"][0]["values"], 6);
  EXPECT_EQ(first["parameters"][0]["bins"].size(), 32u);
  ASSERT_EQ(first["next_after"], 1);
  const json second = ask("GET", job_ + "/models/0/parameters?limit=1&after=1").document();
  EXPECT_EQ(second["parameters"][0]["zeros"], 3) << "biases begin as zeros";
  EXPECT_FALSE(second.contains("next_after"));
}

TEST_F(AdminModelView, RefusesWhatIsNotThere) {
  for (const char* view : {"/graph", "/parameters"}) {
    EXPECT_EQ(ask("GET", job_ + "/models/1" + view).status, 404);
    EXPECT_EQ(ask("GET", job_ + "/models/x" + view).status, 400);
    EXPECT_EQ(ask("GET", std::string("/admin/v1/jobs/none/models/0") + view).status, 404);
    EXPECT_EQ(ask("POST", job_ + "/models/0" + view).status, 405);
  }
  EXPECT_EQ(ask("GET", job_ + "/models/0/parameters?after=16385&limit=0&x=1").document()["errors"].size(), 3u);
}

}  // namespace
}  // namespace coterie

// The admin plane's table of routes, asked over a real connection to a server in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/model_builder.h"
#include "proto/codec/codec.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::Answer;

class AdminRoutes : public test::AdminServerTest {};

TEST_F(AdminRoutes, WithoutTheTokenTellNothingNotEvenWhatExists) {
  for (const std::string& authorization : {std::string(), std::string("Bearer "), "Bearer x" + token_,
                                           "Bearer " + token_ + "x", "Basic " + token_, token_}) {
    for (const char* target : {"/admin/v1/jobs", "/metrics", "/admin/v1/nothing", "/x", "/v1/checkins"}) {
      for (const char* method : {"GET", "POST", "DELETE"}) {
        const Answer answer = ask_as(authorization, method, target);
        EXPECT_EQ(answer.status, 401) << method << " " << target;
        EXPECT_EQ(answer.head.header("www-authenticate"), "Bearer");
        EXPECT_EQ(answer.head.header("allow"), "");
        EXPECT_EQ(answer.document()["code"], "unauthenticated");
      }
    }
  }
  EXPECT_EQ(ask_as("", "GET", "/healthz").status, 200) << "liveness is for everybody";
  EXPECT_EQ(ask_as("", "GET", "/readyz").status, 200);
  EXPECT_EQ(ask_as("", "POST", "/healthz").status, 401);
}

TEST_F(AdminRoutes, ThatDoNotExistAreNotFound) {
  for (const char* target :
       {"/x", "/admin", "/admin/v1", "/admin/v1/", "/admin/v1/jobs/", "/admin/v1/job", "/admin/v1/jobsx",
        "/admin/v1/jobs/j1/", "/admin/v1/jobs/j1:fly", "/admin/v1/jobs/j1/rounds/1", "/admin/v1/jobs/j1:pause:pause",
        "/admin/v1/jobs/:pause", "/admin/v2/jobs", "/v1/checkins"}) {
    const Answer answer = ask("GET", target);
    EXPECT_EQ(answer.status, 404) << target;
    EXPECT_EQ(answer.head.header("content-type"), "application/problem+json");
    EXPECT_EQ(answer.document()["status"], 404) << target;
  }
}

TEST_F(AdminRoutes, TellOfARoundsTraceOrThatItIsNotKept) {
  const std::string trace = "/admin/v1/jobs/" + create_job({{"name", "one"}}) + "/trace";
  const Answer none = ask("GET", trace);
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.document().value("detail", ""), testing::HasSubstr("the newest 128 attempts"));
  EXPECT_EQ(ask("GET", trace + "?round=1").status, 404);
  for (const char* query : {"?round=0", "?round=-1", "?round=x", "?round=1.2", "?round=", "?rounds=1"}) {
    EXPECT_EQ(ask("GET", trace + query).status, 400) << query;
  }
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/none/trace").status, 404);
}

TEST_F(AdminRoutes, SayWhichMethodsTheyTake) {
  struct Case {
    const char* method;
    const char* target;
    const char* allowed;
  };
  for (const Case& wrong : std::initializer_list<Case>{{"DELETE", "/admin/v1/jobs", "GET, POST"},
                                                       {"get", "/admin/v1/jobs", "GET, POST"},
                                                       {"POST", "/admin/v1/server", "GET"},
                                                       {"PUT", "/healthz", "GET"},
                                                       {"GET", "/admin/v1/jobs/j1:pause", "POST"},
                                                       {"GET", "/admin/v1/models", "POST"},
                                                       {"GET", "/admin/v1/enrollment-tokens/abc", "DELETE"}}) {
    const Answer answer = ask(wrong.method, wrong.target);
    EXPECT_EQ(answer.status, 405) << wrong.method << " " << wrong.target;
    EXPECT_EQ(answer.head.header("allow"), wrong.allowed) << wrong.target;
    EXPECT_EQ(answer.document()["status"], 405) << wrong.target;
  }
}

TEST_F(AdminRoutes, AnswerHeadWithoutABodyAndGoOn) {
  for (const char* target : {"/healthz", "/metrics", "/admin/v1/jobs", "/admin/v1/jobs/none", "/nothing"}) {
    const Answer whole = ask("GET", target);
    const Answer head = ask("HEAD", target);
    EXPECT_EQ(head.status, whole.status) << target;
    EXPECT_EQ(head.body, "") << target;
    EXPECT_NE(head.head.header("content-length"), "0") << target;
  }
  EXPECT_EQ(ask("GET", "/healthz").body, "ok\n") << "the connection is in step";
}

TEST_F(AdminRoutes, NameEverythingThatIsWrongWithAJob) {
  const Answer broken = ask("POST", "/admin/v1/jobs", "{\"name\": ");
  EXPECT_EQ(broken.status, 400);
  EXPECT_EQ(broken.document()["code"], "malformed");
  const Answer wrong =
      ask("POST", "/admin/v1/jobs",
          R"({"name": "", "model": ")" + std::string(64, 'a') + R"(", "rounds": {"count": 0}, "x": 1})");
  EXPECT_EQ(wrong.status, 400);
  std::vector<std::string> pointers;
  const json document = wrong.document();
  for (const json& error : document["errors"]) pointers.push_back(error["pointer"]);
  EXPECT_THAT(pointers, testing::UnorderedElementsAre("/name", "/model", "/rounds/count", "/x"));
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").document()["jobs"], json::array()) << "none was created";
  EXPECT_EQ(ask("POST", "/admin/v1/jobs", std::string((1 << 20) + 1, ' ')).status, 413);
}

TEST_F(AdminRoutes, JudgeTheInitialModelOrSayWhyTheyCannot) {
  ModelBuilder build("small", {2}, 1);
  const Answer model = ask("POST", "/admin/v1/models", as_text(build.finish(build.dense(build.input(), 3)).value()));
  const auto create_with = [&](uint32_t features) {
    Bytes file = encode_head(labelled_dataset("d", 4, {features}, 3));
    file.resize(file.size() + 4 * (features * sizeof(float) + sizeof(int32_t)));
    const Answer dataset = ask("POST", "/admin/v1/datasets", as_text(file));
    EXPECT_EQ(dataset.status, 201) << dataset.body;
    return ask("POST", "/admin/v1/jobs",
               json{{"name", "j"}, {"model", model.document()["digest"]}, {"evaluation", dataset.document()["digest"]}}
                   .dump());
  };
  const Answer wrong = create_with(5);
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.document()["errors"][0]["pointer"], "/evaluation") << wrong.body;
  EXPECT_EQ(ask("GET", "/admin/v1/jobs").document()["jobs"], json::array()) << "none was created";

  const Answer right = create_with(2);
  ASSERT_EQ(right.status, 201) << right.body;
  const std::string job = right.document()["id"];
  const json initial = ask("GET", "/admin/v1/jobs/" + job + "/models/0").document();
  EXPECT_EQ(initial["evaluation_accuracy"], 1.0) << "all logits are equal, and the first class is the label";
  EXPECT_NEAR(initial["evaluation_loss"].get<double>(), std::log(3.0), 1e-6);
}

TEST_F(AdminRoutes, NameTheQueryParameterThatIsWrong) {
  const Answer answer = ask("GET", "/admin/v1/devices?limit=0&after=xyz");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.document()["errors"][0]["pointer"], "?after");
  EXPECT_EQ(answer.document()["errors"][1]["pointer"], "?limit");
  EXPECT_EQ(ask("GET", "/admin/v1/devices?limit=%").status, 400);
  EXPECT_EQ(ask("GET", "/admin/v1/devices?limit=1").status, 200);
}

TEST_F(AdminRoutes, MakeATokenAndTakeItAway) {
  const Answer made = ask("POST", "/admin/v1/enrollment-tokens", R"({"label": "lab", "uses": 2})");
  ASSERT_EQ(made.status, 201);
  const std::string id = made.document()["id"];
  EXPECT_EQ(ask("DELETE", "/admin/v1/enrollment-tokens/" + id).status, 204);
  EXPECT_EQ(ask("DELETE", "/admin/v1/enrollment-tokens/" + id).status, 404);
  EXPECT_EQ(ask("POST", "/admin/v1/enrollment-tokens", R"({"uses": 0})").status, 400);
}

TEST_F(AdminRoutes, TakeAModelWhateverBytesItsNameHas) {
  ModelBuilder build("\xff\xfe", {2}, 1);
  const Bytes model = build.finish(build.dense(build.input(), 3)).value();
  const Answer answer = ask("POST", "/admin/v1/models", as_text(model));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.document()["name"], "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(ask("GET", "/healthz").status, 200) << "and the server is still there";
}

TEST_F(AdminRoutes, RefuseAFileThatIsNoModel) {
  EXPECT_EQ(ask("POST", "/admin/v1/models", "not a model").status, 400);
  EXPECT_EQ(ask("POST", "/admin/v1/models", "").status, 400);
  EXPECT_EQ(ask("POST", "/admin/v1/datasets", as_text(encode(Receipt{}))).status, 400);
}

}  // namespace
}  // namespace coterie

// The commands for operators, each at least once, on a real server.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/support/admin.h"
#include "tests/integration/support/server_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Commands : public DemoTest {
 protected:
  void SetUp() override {
    auto started = ServerProcess::start({.data_dir = directory_ / "data", .config = {}});
    ASSERT_TRUE(test::is_ok(started));
    server_ = std::move(*started);
  }

  // What the command says on standard output; errors_ has the rest.
  std::string coterie(std::vector<std::string> words, int expected = 0) {
    words.insert(words.begin(), {"--data-dir", directory_ / "data"});
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), expected) << words[2] << ": " << process.errors();
    errors_ = process.errors();
    return process.output();
  }
  json coterie_json(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "json"});
    return json::parse(coterie(words), nullptr, false);
  }
  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(test::is_ok(os::write_file_atomically(directory_ / name, as_bytes(text))));
  }
  // A job of the digits' mlp that waits for devices.
  std::string create_job() {
    coterie({"model", "new", "mlp", "-o", "mlp.cotf"});
    put("job.json", R"({"name": "pilot", "rounds": {"count": 3, "goal_count": 2, "pool_min": 2}})");
    return coterie_json({"job", "create", "job.json", "--model", "mlp.cotf"})["id"].get<std::string>();
  }

  std::unique_ptr<ServerProcess> server_;
  std::string errors_;
};

TEST_F(Commands, TakeAJobFromItsFileToItsModel) {
  // The demo leaves data for devices behind; its held-out examples judge.
  coterie({"demo", "--quiet", "--rounds", "1", "--devices", "2", "--security", "none", "--model", "mlp", "--keep",
           "--out", run()});
  const std::string token = coterie_json({"token", "create", "--uses", "2"})["token"].get<std::string>();
  std::vector<std::unique_ptr<DemoProcess>> devices;
  for (const std::string device : {"01", "02"}) {
    devices.push_back(std::make_unique<DemoProcess>(
        directory_.path(),
        std::vector<std::string>{"device", "run", "--server", server_->device_url(), "--ca",
                                 directory_ / "data/tls/ca.pem", "--token", token, "--state-dir", directory_ / device,
                                 "--data", run() + "/devices/" + device + "/data.cotf", "--rounds", "3", "--cohort-min",
                                 "2"}));
  }
  coterie({"model", "new", "mlp", "-o", "mlp.cotf"});
  put("job.json", R"({"name": "pilot", "rounds": {"count": 3, "goal_count": 2, "pool_min": 2}})");
  const std::string created =
      coterie({"job", "create", "job.json", "--model", "mlp.cotf", "--evaluation", run() + "/held-out.cotf"});
  ASSERT_THAT(created, StartsWith("job "));
  const std::string job = created.substr(4, created.find(' ', 4) - 4);
  EXPECT_THAT(created, HasSubstr("`coterie --data-dir " + directory_ / "data" + " job watch " + job + "`"));

  EXPECT_THAT(coterie({"job", "watch", job}), HasSubstr("round 3/3  2/2 devices  loss "));
  for (const auto& device : devices) EXPECT_EQ(device->wait(), 0) << device->errors();
  EXPECT_THAT(coterie({"job", "show", job}), HasSubstr("state       completed\n"));
  EXPECT_EQ(coterie_json({"job", "rounds", job, "--limit", "2"})["rounds"].size(), 2u);
  const std::string why = coterie({"job", "why", job});
  EXPECT_THAT(why, StartsWith("round 3, attempt 1 (done): 2 devices asked\n"));
  EXPECT_THAT(why, HasSubstr("2  ####################  counted  are counted\n"));
  const nlohmann::json first = coterie_json({"job", "why", job, "--round", "1"});
  EXPECT_EQ(first["attempts"][0]["asked"], 2);
  EXPECT_EQ(first["attempts"][0]["codes"][0]["code"], "counted");
  coterie({"job", "why", job, "--round", "4"}, 1);
  EXPECT_THAT(errors_, HasSubstr("has no round 4"));
  EXPECT_THAT(coterie({"device", "why", "--state-dir", directory_ / "01"}),
              StartsWith("gate     counted: it is counted\n"));
  EXPECT_EQ(coterie_json({"device", "why", "--state-dir", directory_ / "02"})["code"], "counted");
  coterie({"device", "why", "--state-dir", directory_ / "nobody"}, 2);
  EXPECT_THAT(errors_, HasSubstr("is no device's"));
  EXPECT_EQ(coterie_json({"model", "list", job})["models"].size(), 4u);
  EXPECT_THAT(coterie({"model", "download", job, "-o", "new.cotf"}), StartsWith("version 3: "));
  EXPECT_THAT(coterie({"model", "download", job, "0", "-o", "old.cotf"}), StartsWith("version 0: "));
  EXPECT_EQ(*os::read_file(directory_ / "old.cotf", 1 << 20), *os::read_file(directory_ / "mlp.cotf", 1 << 20));
  const double before = coterie_json({"model", "evaluate", "old.cotf", "--data", run() + "/held-out.cotf"})["accuracy"];
  EXPECT_GT(
      coterie_json({"model", "evaluate", "new.cotf", "--data", run() + "/held-out.cotf"})["accuracy"].get<double>(),
      before);
  EXPECT_EQ(coterie_json({"device", "list"})["devices"].size(), 2u);
  EXPECT_TRUE(coterie_json({"node", "list"})["nodes"].is_array());
  EXPECT_NE(coterie({"node", "list"}), "");
}

TEST_F(Commands, PauseResumeAndCancelAJob) {
  const std::string job = create_job();
  EXPECT_EQ(coterie({"job", "pause", job}), "job " + job + " is paused\n");
  EXPECT_EQ(coterie({"job", "resume", job}), "job " + job + " is running\n");
  EXPECT_THAT(coterie({"job", "list"}), HasSubstr("pilot  running     0/3"));
  EXPECT_EQ(coterie({"job", "cancel", job}), "job " + job + " is cancelled\n");
  coterie({"job", "resume", job}, 1);
  EXPECT_THAT(errors_, HasSubstr("is cancelled and cannot become running"));
  coterie({"job", "watch", job}, 1);
  EXPECT_THAT(errors_, HasSubstr("the job was cancelled"));
}

// Opens a connection of its own for the answer.
int admin_connections(const ServerProcess& server) {
  const Result<AdminAnswer> answer = Admin(server).call("GET", "/metrics");
  EXPECT_TRUE(test::is_ok(answer));
  if (!answer) return 0;
  constexpr std::string_view kGauge = "\ncoterie_http_connections{plane=\"admin\"} ";
  const std::string text(as_text(answer->body));
  const size_t at = text.find(kGauge);
  EXPECT_NE(at, text.npos);
  return at == text.npos ? 0 : std::stoi(text.substr(at + kGauge.size()));
}

TEST_F(Commands, WatchAJobThroughARestartOfItsServer) {
  const std::string job = create_job();
  DemoProcess watch(directory_.path(), {"--data-dir", directory_ / "data", "job", "watch", job});
  // One is this test's, one the watch's look, one its stream of events.
  while (admin_connections(*server_) < 3) ASSERT_FALSE(HasFailure());
  const ServerOptions again{.data_dir = directory_ / "data",
                            .config = {},
                            .device_port = server_->device_port(),
                            .admin_port = server_->admin_port()};
  server_->kill();
  auto started = ServerProcess::start(again);
  ASSERT_TRUE(test::is_ok(started));
  server_ = std::move(*started);
  EXPECT_EQ(coterie({"job", "cancel", job}), "job " + job + " is cancelled\n");
  EXPECT_EQ(watch.wait(), 1);
  EXPECT_EQ(watch.errors(), "coterie job watch: the job was cancelled\n");
}

TEST_F(Commands, CreateListAndRemoveTokens) {
  EXPECT_THAT(coterie({"token", "list"}), HasSubstr("no tokens"));
  const std::string token = coterie({"token", "create", "--uses", "3", "--label", "pilot"});
  EXPECT_THAT(token, ::testing::MatchesRegex("cot_[A-Za-z0-9_-]+\n"));
  EXPECT_THAT(errors_, HasSubstr("Good for 3 devices until "));
  EXPECT_THAT(errors_, HasSubstr("coterie device run --server " + server_->device_url()));
  const json tokens = coterie_json({"token", "list"})["tokens"];
  ASSERT_EQ(tokens.size(), 1u);
  coterie({"token", "remove", tokens[0]["id"].get<std::string>()});
  EXPECT_EQ(coterie_json({"token", "list"})["tokens"].size(), 0u);
}

TEST_F(Commands, UploadAndInspectAModel) {
  coterie({"model", "new", "lenet5", "--input", "28x28x1", "-o", "m.cotf"});
  const json report = coterie_json({"model", "inspect", "m.cotf"});
  EXPECT_EQ(report["parameters"], 61'706);  // of LeNet-5
  EXPECT_EQ(coterie({"model", "upload", "m.cotf"}), report["digest"].get<std::string>() + "\n");
  put("text", "no model");
  coterie({"model", "upload", "text"}, 2);
  coterie({"model", "inspect", "text"}, 2);
  EXPECT_THAT(errors_,
              StartsWith("coterie model inspect: text is of no format that is known here; a model file is expected"));
}

TEST_F(Commands, FindTheServerByUrlAndTokenFileAsWellAsByItsDirectory) {
  EXPECT_THAT(coterie({"server", "status"}), HasSubstr("0 devices enrolled, 0 waiting\n"));
  const std::vector<std::string> by_url = {"--admin-url", server_->admin_url(), "--ca", directory_ / "data/tls/ca.pem"};
  auto words = by_url;
  words.insert(words.end(), {"--token-file", directory_ / "data/admin-token", "server", "status"});
  DemoProcess allowed(directory_.path(), words);
  EXPECT_EQ(allowed.wait(), 0) << allowed.errors();
  put("wrong", "guess");
  words = by_url;
  words.insert(words.end(), {"--token-file", directory_ / "wrong", "server", "status"});
  DemoProcess refused(directory_.path(), words);
  EXPECT_EQ(refused.wait(), 4);
  EXPECT_THAT(refused.errors(), StartsWith("coterie server status: a valid bearer token is needed"));
}

TEST_F(Commands, LookTheSetUpOver) {
  const nlohmann::json report = coterie_json({"doctor"});
  std::map<std::string, std::string> worst;
  for (const nlohmann::json& finding : report["findings"]) {
    std::string& health = worst[finding["subject"].get<std::string>()];
    if (health != "bad") health = finding["health"].get<std::string>();
  }
  for (const char* subject : {"device plane", "admin plane", "version", "server's clock", "database", "keys"}) {
    EXPECT_EQ(worst[subject], "ok") << report.dump(1);
  }
  put("config.json", R"({"device": {"port": "many"}})");
  EXPECT_THAT(coterie({"doctor", "--config", directory_ / "config.json"}, 3), HasSubstr("/device/port: "));
  ASSERT_EQ(::chmod((directory_ / "data/keys/signing.key").c_str(), 0644), 0);
  EXPECT_THAT(coterie({"doctor"}, 1), HasSubstr("signing.key can be read"));
}

TEST_F(Commands, CountTheDevicesThatWait) {
  const std::string token = coterie_json({"token", "create"})["token"].get<std::string>();
  coterie(
      {"demo", "--quiet", "--rounds", "1", "--devices", "1", "--security", "none", "--model", "mlp", "--out", run()});
  DemoProcess device(directory_.path(),
                     {"device", "run", "--server", server_->device_url(), "--ca", directory_ / "data/tls/ca.pem",
                      "--token", token, "--state-dir", directory_ / "device", "--data", run() + "/held-out.cotf"});
  const auto waits = [&] {
    return coterie({"server", "status"}).find("1 device enrolled, 1 waiting\n") != std::string::npos;
  };
  while (!waits()) ASSERT_FALSE(HasFailure());
  device.signal(SIGTERM);
  EXPECT_EQ(device.wait(), 0) << device.errors();
}

TEST_F(Commands, SayWhatIsNotThere) {
  for (const char* verb : {"show", "rounds", "watch", "pause"}) {
    coterie({"job", verb, "nope"}, 1);
    EXPECT_EQ(errors_, std::string("coterie job ") + verb + ": no such job: nope\n");
  }
  coterie({"device", "revoke", "nope"}, 2);
  EXPECT_THAT(errors_, StartsWith("coterie device revoke: device nope: "));
  coterie({"device", "revoke", std::string(32, '0')}, 1);
  coterie({"job", "create", "nope.json"}, 2);
  EXPECT_THAT(errors_, HasSubstr("cannot open nope.json"));
}

TEST_F(Commands, GiveATokenARoleAndTakeItAway) {
  const std::string made = coterie({"admin-token", "create", "--label", "dashboard", "--role", "viewer"});
  EXPECT_THAT(made, StartsWith("cota_"));
  EXPECT_THAT(errors_, HasSubstr("viewer"));
  put("dashboard.token", made);
  const std::string id = made.substr(5, 16);
  EXPECT_THAT(coterie({"admin-token", "list"}), HasSubstr(id + "  dashboard"));
  coterie({"--token-file", directory_ / "dashboard.token", "job", "list"});
  coterie({"--token-file", directory_ / "dashboard.token", "token", "create"}, 4);
  EXPECT_THAT(errors_, HasSubstr("createToken is for operator; this token has viewer"));
  coterie({"admin-token", "remove", id});
  coterie({"--token-file", directory_ / "dashboard.token", "job", "list"}, 4);
  coterie({"admin-token", "create", "--label", "x", "--role", "viewr"}, 2);
  EXPECT_THAT(errors_, HasSubstr("viewer"));

  const std::string list = coterie({"audit", "list", "--action", "admin_token.remove"});
  EXPECT_THAT(list, HasSubstr("/admin/v1/tokens/" + id + "  begun"));
  EXPECT_THAT(list, HasSubstr("/admin/v1/tokens/" + id + "  204"));
  const std::string head = coterie({"audit", "verify"});
  EXPECT_THAT(head, StartsWith("5:")) << "created: 2, removed: 2, refused: 1";
  coterie({"token", "create"});
  EXPECT_THAT(coterie({"audit", "verify", "--head", head.substr(0, head.size() - 1)}), StartsWith("7:"));
  coterie({"audit", "verify", "--head", "7:" + head.substr(2, 64)}, 1);
  EXPECT_THAT(errors_, HasSubstr("was noted"));
  coterie({"audit", "verify", "--head", "nonsense"}, 2);
}

}  // namespace
}  // namespace coterie::integration

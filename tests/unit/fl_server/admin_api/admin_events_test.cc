// Server-sent events over a real connection: they come, they end with the job, the client and the server.
#include <gmock/gmock.h>

#include <cstring>

#include "base/os/clock.h"
#include "device_sdk/transport/tls_socket.h"
#include "tests/unit/fl_server/admin_api/admin_server.h"

// Behind GoogleTest's namespace testing, as it opens one of that name within ours.
#include "tests/integration/support/raw_device.h"

namespace coterie {
namespace {

using coterie::integration::RawDevice;
using nlohmann::json;
using test::Answer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Millis kPatience{30'000};

// A job that one device ends with one update.
const json kOneRound = {
    {"name", "n"}, {"privacy", {{"level", "none"}}}, {"rounds", {{"count", 1}, {"goal_count", 1}, {"pool_min", 1}}}};

class AdminEvents : public test::AdminServerTest {
 protected:
  // A connection on which `method` of the job's events was asked for.
  std::unique_ptr<TlsSocket> open(const std::string& job, const std::string& method = "GET",
                                  const std::string& last_event = {}) {
    return open_path("/admin/v1/jobs/" + job + "/events", method, last_event, token_);
  }
  std::unique_ptr<TlsSocket> open_all(const std::string& token, const std::string& last_event = {}) {
    return open_path("/admin/v1/events", "GET", last_event, token);
  }
  std::unique_ptr<TlsSocket> open_path(const std::string& path, const std::string& method,
                                       const std::string& last_event, const std::string& token) {
    const auto trust = TlsTrust::make(read(server_->ca_file()));
    EXPECT_OK(trust);
    const std::string url = server_->admin_url();
    const auto port = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    auto socket = TlsSocket::connect("127.0.0.1", port, *trust, kPatience, nullptr);
    EXPECT_OK(socket);
    const std::string request = method + " " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token +
                                (last_event.empty() ? "" : "\r\nLast-Event-ID: " + last_event) + "\r\n\r\n";
    EXPECT_OK((*socket)->write_all(as_bytes(request), kPatience));
    return std::move(*socket);
  }
  // What comes until `text` has come, or the stream has ended.
  static std::string read_until(TlsSocket& socket, std::string_view text) {
    std::string all;
    std::array<uint8_t, 4096> piece;
    while (text.empty() || all.find(text) == std::string::npos) {
      const Result<size_t> count = socket.read_some(piece, kPatience);
      if (!count || *count == 0) break;
      all.append(as_text(ByteView(piece).first(*count)));
    }
    return all;
  }
  static std::string read_to_the_end(TlsSocket& socket) { return read_until(socket, {}); }
  struct Told {
    std::string id, kind, data;
    friend bool operator==(const Told&, const Told&) = default;
  };
  // Each "id: ...\nevent: ...\ndata: ...\n\n".
  static std::vector<Told> events_in(std::string text) {
    text.resize(text.rfind("\n\n") + 1);  // what has not come whole does not count
    std::vector<Told> all;
    const auto value = [&](const char* name, size_t& at) {
      at = text.find(name, at);
      if (at == std::string::npos) return std::string();
      const size_t begin = at + std::strlen(name);
      return text.substr(begin, text.find('\n', begin) - begin);
    };
    for (size_t at = 0;;) {
      const std::string id = value("id: ", at);
      if (at == std::string::npos) return all;
      const std::string kind = value("\nevent: ", at);
      all.push_back({id, kind, value("\ndata: ", at)});
      if (at == std::string::npos) return all;
    }
  }
  static std::vector<Told> changes_in(const std::string& text) {
    std::vector<Told> changes = events_in(text);
    std::erase_if(changes, [](const Told& told) { return told.kind != "job_state_changed"; });
    return changes;
  }
  void pause_and_resume(const std::string& job) {
    EXPECT_EQ(ask("POST", "/admin/v1/jobs/" + job + ":pause").status, 200);
    EXPECT_EQ(ask("POST", "/admin/v1/jobs/" + job + ":resume").status, 200);
  }
  // A device takes part in the round under way, whose goal is one update.
  void run_round() {
    RawDevice device(server_->device_url(), read(server_->ca_file()));
    const json token = ask("POST", "/admin/v1/enrollment-tokens", "{}").document();
    ASSERT_OK(device.enroll(token["token"]));
    const Result<Assignment> assignment = device.wait_for_assignment(kPatience);
    ASSERT_OK(assignment);
    const std::vector<float> update(19, 0.0f);  // create_job's model: 2 x 3 weights, padding to 16, 3 biases
    const auto accepted = device.upload_until_decided(*assignment, update);
    EXPECT_TRUE(std::holds_alternative<Receipt>(accepted)) << std::get<Failure>(accepted).error.message();
  }
};

TEST_F(AdminEvents, TellHowRoundsGoUntilTheJobIsOver) {
  const std::string job = create_job({{"name", "n"}});
  const auto stream = open(job);
  const std::string begin = read_until(*stream, "\"waiting\":0");
  EXPECT_THAT(begin, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(begin, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(begin, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(begin, Not(HasSubstr("Content-Length")));
  const size_t data = begin.find("event: round\ndata: {");
  ASSERT_NE(data, std::string::npos) << begin;
  EXPECT_THAT(begin, HasSubstr("\"job\":\"" + job + "\""));
  EXPECT_THAT(begin, HasSubstr("\"waiting\":0"));
  ASSERT_EQ(ask("POST", "/admin/v1/jobs/" + job + ":cancel").status, 200);
  EXPECT_THAT(read_to_the_end(*stream), HasSubstr("event: over\ndata: {\"job\":\"" + job + "\"}\n\n"));
}

// A round is frozen and its model made within a few milliseconds: whoever only looks now and then never sees it.
TEST_F(AdminEvents, TellStatesThatAreOverAtOnce) {
  const std::string job = create_job(kOneRound);
  const auto stream = open(job);
  const std::string begin = read_until(*stream, "event: round\n");
  run_round();
  std::vector<std::string> kinds;
  for (const Told& told : events_in(begin + read_to_the_end(*stream))) {
    if (told.kind == "round_opened") continue;  // may have been before the stream
    if (told.kind != "round" && told.kind != "updates_accepted") kinds.push_back(told.kind);
  }
  EXPECT_THAT(kinds, ElementsAre("round_collecting", "round_frozen", "round_finalizing", "round_done", "job_completed",
                                 "over"));
}

TEST_F(AdminEvents, GoOnBehindTheLastEventIdWithoutAGapOrARepetition) {
  const std::string job = create_job({{"name", "n"}});
  auto stream = open(job);
  const std::string begin = events_in(read_until(*stream, "}\n\n")).back().id;
  pause_and_resume(job);
  const std::vector<Told> first = changes_in(read_until(*stream, "\"running\""));
  ASSERT_FALSE(first.empty());
  stream.reset();
  pause_and_resume(job);  // while nobody reads
  stream = open(job, "GET", first.back().id);
  pause_and_resume(job);
  ASSERT_EQ(ask("POST", "/admin/v1/jobs/" + job + ":cancel").status, 200);
  const std::vector<Told> second = changes_in(read_to_the_end(*stream));
  std::vector<Told> joined = first;
  joined.insert(joined.end(), second.begin(), second.end());
  EXPECT_EQ(joined.size(), 7u) << "three times paused and resumed, and cancelled";
  // The whole of it from one connection, which comes when the job is over.
  EXPECT_EQ(joined, changes_in(read_to_the_end(*open(job, "GET", begin))));
}

TEST_F(AdminEvents, SayThatSomeWereMissedToWhoeverReadAnotherServers) {
  const std::string job = create_job({{"name", "n"}});
  const auto stream = open(job, "GET", "0123456789abcdef-7");
  const std::string begin = read_until(*stream, "event: round\n");
  EXPECT_THAT(begin, HasSubstr("event: events_missed\ndata: {\"job\":\"" + job + "\"}\n\n"));
  headers_ = {{"Last-Event-ID", "seven"}};
  const Answer refused = ask("GET", "/admin/v1/jobs/" + job + "/events");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("Last-Event-ID"));
}

TEST_F(AdminEvents, AreForAJobThatExistsAndTakeNoQuery) {
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/none/events").status, 404);
  const std::string job = create_job({{"name", "n"}});
  EXPECT_EQ(ask("GET", "/admin/v1/jobs/" + job + "/events?x=1").status, 400);
  const std::string head = read_to_the_end(*open(job, "HEAD"));
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  EXPECT_THAT(head, Not(HasSubstr("event:")));
}

// A server of two tenants: each hears of its own jobs, also of those that there were before the server was started
// anew.
TEST_F(AdminEvents, OfAllJobsAreToldToTheTenantThatHasThem) {
  const auto token_of = [this](const std::string& tenant) {
    const json label = {{"label", tenant}, {"tenant", tenant}, {"roles", {"viewer"}}};
    return ask("POST", "/admin/v1/tokens", label.dump()).document()["token"].get<std::string>();
  };
  const std::string acme = token_of("acme"), other = token_of("other");
  auto stream = open_all(acme);
  const std::string begin = read_until(*stream, "data: {}\n\n");
  EXPECT_THAT(begin, HasSubstr("event: begin\n"));
  const std::string of_other = create_job({{"name", "theirs"}, {"population", "cars"}}, "?tenant=other");
  const std::string of_acme = create_job({{"name", "ours"}, {"population", "phones"}}, "?tenant=acme");
  const std::string told = read_until(*stream, "\"name\":\"ours\"");
  EXPECT_THAT(told, HasSubstr("event: job_created\ndata: {\"job\":\"" + of_acme));
  EXPECT_THAT(told, Not(HasSubstr(of_other)));
  EXPECT_THAT(told, Not(HasSubstr("theirs")));

  const std::string everything = read_until(*open_all(token_, events_in(begin).back().id), "\"name\":\"ours\"");
  EXPECT_THAT(everything, HasSubstr("theirs"));

  stream.reset();
  server_->stop();
  server_.reset();
  SetUp();
  stream = open_all(other, events_in(begin).back().id);
  EXPECT_THAT(read_until(*stream, "data: {}"), HasSubstr("event: events_missed\n")) << "of the life before";
  pause_and_resume(of_acme);
  pause_and_resume(of_other);
  const std::string later = read_until(*stream, "\"running\"");
  EXPECT_THAT(later, HasSubstr("event: job_state_changed\ndata: {\"job\":\"" + of_other));
  EXPECT_THAT(later, Not(HasSubstr(of_acme)));
  EXPECT_EQ(ask("GET", "/admin/v1/events?x=1").status, 400);
}

class AdminEventPlaces : public AdminEvents {
 protected:
  static constexpr uint32_t kPlaces = 3;
  void configure(ServerConfig& config) override { config.event_streams_max = kPlaces; }
};

TEST_F(AdminEventPlaces, AreAsManyAsTheSettingSaysAndAreGivenBack) {
  const std::string job = create_job({{"name", "n"}});
  std::vector<std::unique_ptr<TlsSocket>> streams;
  for (uint32_t i = 0; i < kPlaces; ++i) {
    streams.push_back(open(job));
    EXPECT_THAT(read_until(*streams.back(), "event:"), HasSubstr("200 OK"));
  }
  const Answer refused = ask("GET", "/admin/v1/jobs/" + job + "/events");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("3 streams"));
  streams.clear();
  // Their ends are noticed a moment later, also if nothing happens to the job.
  const Instant until = os::monotonic_now() + kPatience;
  std::string answer;
  while (answer.find("200 OK") == std::string::npos && os::monotonic_now() < until)
    answer = read_until(*open(job), "\r\n");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST_F(AdminEvents, LetTwoHundredConsolesIn) {
  const std::string job = create_job({{"name", "n"}});
  std::vector<std::unique_ptr<TlsSocket>> streams;
  for (int i = 0; i < 200; ++i) streams.push_back(open_all(token_));
  for (const auto& stream : streams) EXPECT_THAT(read_until(*stream, "event: begin"), HasSubstr("200 OK"));
  pause_and_resume(job);
  const std::string first = read_until(*streams.front(), "\"running\"");
  const std::vector<Told> told = changes_in(first);
  ASSERT_EQ(told.size(), 2u);
  for (size_t i = 1; i < streams.size(); ++i) EXPECT_EQ(changes_in(read_until(*streams[i], "\"running\"")), told);
}

TEST_F(AdminEvents, EndWithTheTokenThatTheyWereAskedForWith) {
  const std::string job = create_job({{"name", "n"}});
  const json made =
      ask("POST", "/admin/v1/tokens", json{{"label", "watcher"}, {"roles", {"viewer"}}}.dump()).document();
  const auto stream = open_path("/admin/v1/jobs/" + job + "/events", "GET", {}, made["token"]);
  EXPECT_THAT(read_until(*stream, "data: {"), HasSubstr("200 OK"));
  ASSERT_EQ(ask("DELETE", "/admin/v1/tokens/" + made["id"].get<std::string>()).status, 204);
  pause_and_resume(job);
  EXPECT_THAT(read_to_the_end(*stream), Not(HasSubstr("paused"))) << "it ends, and what happens later is not told";
}

TEST_F(AdminEvents, EndWhenTheServerDrains) {
  const auto stream = open(create_job({{"name", "n"}}));
  EXPECT_THAT(read_until(*stream, "event:"), HasSubstr("200 OK"));
  server_->stop();
  std::array<uint8_t, 4096> piece;
  Result<size_t> count = stream->read_some(piece, kPatience);
  while (count && *count > 0) count = stream->read_some(piece, kPatience);
  EXPECT_OK(count) << "an end, not a break";
}

}  // namespace
}  // namespace coterie

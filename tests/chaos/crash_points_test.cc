// `kill -9` at every named crash point (base/os/crash_points.def), of a server on SQLite and of one on PostgreSQL: it
// is reached, the next process serves within five seconds, rounds go on, and the one-hot audit is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "base/os/crash_point.h"
#include "tests/chaos/crash_scene.h"
#include "tests/chaos/stride.h"
#include "tests/support/matchers.h"

namespace coterie::chaos {
namespace {

constexpr Millis kBackMax{5'000};
constexpr size_t kByDay = 6;  // points of each back-end

std::string verb_of(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

// A server that is alone has none of these.
bool is_of_a_fleet(const std::string& verb) {
  const std::vector<std::string> verbs = {"incarnation", "take_lease", "give_lease", "lead",
                                          "say",         "leave",      "write_board"};
  return std::ranges::count(verbs, verb) > 0;
}

// A device keeps it: tests/unit/device_sdk/agent/work_meter_test.cc has these.
bool is_of_a_device(const std::string& verb) { return verb == "day_spent"; }

// Hours pass until a server that runs comes to these: tests/unit/fl_server/retention/retention_crash_test.cc has them.
bool is_of_retention(const std::string& verb) {
  const std::vector<std::string> verbs = {"forget_models",       "retention",      "forget_accepted", "forget_rounds",
                                          "forget_keys",         "forget_devices", "seal_audit",      "forget_audit",
                                          "drop_audit_segments", "delete_job",     "forget_job",      "forget_upload"};
  return std::ranges::count(verbs, verb) > 0;
}

CrashWay way_to(std::string_view name) {
  const std::string verb = verb_of(name);
  if (verb == "key_file" || verb == "tls_file" || verb == "make_schema") return CrashWay::first_start;
  if (verb == "stop" || verb == "leave" || verb == "give_lease") return CrashWay::stop;
  return CrashWay::start;
}

SceneJob job_at(std::string_view name) {
  if (verb_of(name) == "cohorts" || name == "finalize.masks_opened") return SceneJob::masked;
  if (verb_of(name) == "reserve_release" || name == "finalize.noise_reserved") return SceneJob::noise;
  return SceneJob::plain;
}

// Every point that `has` says this back-end has, by day so-manyth; each on a new scene that `make` makes.
// COTERIE_CRASH_ONLY in the environment: only those whose name begins so.
void sweep(const std::string& backend, const std::function<bool(const std::string&)>& has,
           const std::function<std::unique_ptr<CrashScene>()>& make) {
  const char* const only = std::getenv("COTERIE_CRASH_ONLY");
  std::vector<std::string_view> points;
  for (const std::string_view name : os::crash_point_names()) {
    if (has(verb_of(name)) && name.starts_with(only != nullptr ? only : "")) points.push_back(name);
  }
  uint64_t count = 0, bad = 0, rounds = 0;
  std::vector<Millis> ready, leads;
  const size_t step = only != nullptr ? 1 : stride(points.size() / kByDay + 1);
  for (size_t i = 0; i < points.size(); i += step) {
    const std::string name(points[i]);
    SCOPED_TRACE(backend + ", " + name);
    ++count;
    const std::optional<CrashResult> result = make()->run(name, way_to(name), job_at(name));
    if (!result) {
      ++bad;
      continue;
    }
    std::printf("%s %s: ready in %lld ms, leads in %lld ms, %llu rounds audited\n", backend.c_str(), name.c_str(),
                static_cast<long long>(result->ready.count()), static_cast<long long>(result->leads.count()),
                static_cast<unsigned long long>(result->rounds));
    std::fflush(stdout);
    ready.push_back(result->ready);
    leads.push_back(result->leads);
    rounds += result->rounds;
    EXPECT_LE(result->leads, kBackMax);
  }
  ASSERT_FALSE(ready.empty());
  std::ranges::sort(ready);
  std::ranges::sort(leads);
  std::printf(
      "%s: killed at %llu of %zu points, %llu failed; ready again in %lld ms (median), %lld ms (slowest); "
      "leads in %lld ms (slowest); %llu rounds audited\n",
      backend.c_str(), static_cast<unsigned long long>(count), points.size(), static_cast<unsigned long long>(bad),
      static_cast<long long>(ready[ready.size() / 2].count()), static_cast<long long>(ready.back().count()),
      static_cast<long long>(leads.back().count()), static_cast<unsigned long long>(rounds));
}

TEST(CrashPoints, EachOnSqlite) {
  sweep(
      "SQLite",
      [](const std::string& verb) { return !is_of_a_fleet(verb) && !is_of_a_device(verb) && !is_of_retention(verb); },
      [] { return std::make_unique<CrashScene>(); });
}

TEST(CrashPoints, EachOnPostgres) {
  if (!test::PostgresServer::is_installed()) GTEST_SKIP() << "PostgreSQL is not installed: apt-get install postgresql";
  const auto postgres = test::PostgresServer::shared();
  ASSERT_OK(postgres);
  sweep(
      "PostgreSQL", [](const std::string& verb) { return !is_of_a_device(verb) && !is_of_retention(verb); },
      [&] { return std::make_unique<CrashScene>((*postgres)->conninfo(), (*postgres)->fresh_schema()); });
}

// Between noise and publish, in rounds that take off what earlier ones have added: one release for all of them, and the
// devices stay apart.
TEST(CrashPoints, OfRoundsThatShareNoise) {
  for (const std::string point : {"finalize.noise_reserved:2", "commit_round.before_commit:3"}) {
    SCOPED_TRACE(point);
    const std::optional<CrashResult> result = CrashScene().run(point, CrashWay::start, SceneJob::tree);
    ASSERT_TRUE(result.has_value());
    std::printf("%s: ready in %lld ms, %llu rounds audited\n", point.c_str(),
                static_cast<long long>(result->ready.count()), static_cast<unsigned long long>(result->rounds));
  }
}

// Where a batch is the updates themselves: whoever has a receipt is among them, once.
TEST(CrashPoints, OfRoundsThatKeepTheirUpdates) {
  for (const std::string point :
       {"partial_blob.written:2", "accept_batch.before_commit:2", "accept_batch.after_commit:2",
        "ingest.before_receipt:3", "finalize.begun:2", "partials.removed"}) {
    SCOPED_TRACE(point);
    const std::optional<CrashResult> result = CrashScene().run(point, CrashWay::start, SceneJob::kept);
    ASSERT_TRUE(result.has_value());
    std::printf("%s: ready in %lld ms, %llu rounds audited\n", point.c_str(),
                static_cast<long long>(result->ready.count()), static_cast<unsigned long long>(result->rounds));
  }
}

TEST(CrashPoints, ANameThatDoesNotExistIsRefused) {
  const test::TemporaryDirectory directory;
  for (const std::string point : {"accept_batch", "accept_batch.begun:0"}) {
    const auto server = integration::ServerProcess::start(
        {.data_dir = directory / "data", .config = {}, .environment = {"COTERIE_CRASH_POINT=" + point}});
    EXPECT_ERROR(server, ErrorCode::unavailable, "COTERIE_CRASH_POINT: crash point " + point);
  }
}

}  // namespace
}  // namespace coterie::chaos

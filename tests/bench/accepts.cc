// coterie-bench-accepts: updates accepted durably a second, by the size of a batch, on SQLite and on PostgreSQL, beside
// what the disk allows: appends that are synced one after the other.
//
// Only the store's part: one transaction a batch (AcceptStore::accept_batch), on one connection, as a node makes them
// one after the other. Databases lie on the disk of temporary files, with durability as in production.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "base/os/clock.h"
#include "fl_server/store/sql/postgres.h"
#include "fl_server/store/sql/sqlite.h"
#include "fl_server/store/sql_training_store.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace coterie;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "coterie-bench-accepts: %s\n", what.c_str());
  std::exit(1);
}

double seconds_since(Instant begin) { return std::chrono::duration<double>(os::monotonic_now() - begin).count(); }

double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Appends of 4 KiB, each on the disk before the next.
double synced_appends_per_second(const std::string& directory, double seconds) {
  const std::string path = directory + "/appends";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) die("cannot write " + path);
  const std::vector<char> page(4096, 'x');
  const Instant begin = os::monotonic_now();
  uint64_t count = 0;
  for (; seconds_since(begin) < seconds; ++count) {
    if (::write(fd, page.data(), page.size()) != static_cast<ssize_t>(page.size()) || ::fdatasync(fd) != 0)
      die("cannot sync " + path);
  }
  ::close(fd);
  return static_cast<double>(count) / seconds_since(begin);
}

// A job with a round that takes updates.
RoundKey open_collecting(TrainingStore& store, const std::string& id) {
  JobRecord job;
  job.id = JobId(id);
  job.spec.common.name = id;
  job.spec.horizontal().rounds.count = 1;
  job.spec.horizontal().privacy.level = SecurityLevel::none;
  job.value_count = 16;
  ModelRecord model;
  model.job = job.id;
  model.bytes = 64;
  if (const Status created = store.create_job(job, model); !created) die(created.error().message());
  const auto round = store.open_round(job.id, {1, std::nullopt, Attempt(1), model}, os::wall_now());
  if (!round) die(round.error().message());
  const auto moved =
      store.move_round({round->key, RoundState::selecting, RoundState::collecting, "", 0}, os::wall_now());
  if (!moved || !*moved) die("the round does not collect");
  return round->key;
}

void measure(const char* engine, TrainingStore& store, uint32_t batch, double seconds, double appends_per_second) {
  const RoundKey key = open_collecting(store, "batch-" + std::to_string(batch));
  uint64_t batches = 0, devices = 0;
  const double cpu_before = process_cpu_seconds();
  const Instant begin = os::monotonic_now();
  for (; seconds_since(begin) < seconds; ++batches) {
    std::vector<AcceptRow> rows(batch);
    for (AcceptRow& row : rows) {
      // Identifiers of devices are random: rows fall anywhere in the index.
      const uint64_t mixed[2] = {++devices * 0x9E3779B97F4A7C15ull, devices};
      std::memcpy(row.device.bytes.data(), mixed, sizeof mixed);
    }
    const PartialRecord partial{
        .id = "node-0/1/" + std::to_string(key.round.value()) + "/" + std::to_string(batches),
        .key = key,
        .totals = {.updates = batch, .weight = batch, .examples = batch, .loss_sum = 0, .correct = 0, .train_ms = 0},
        .blob = {}};
    if (!std::holds_alternative<BatchDone>(store.accept_batch(partial, rows))) die("a batch was not accepted");
  }
  const double wall = seconds_since(begin);
  const double batches_per_second = static_cast<double>(batches) / wall;
  std::printf(
      "{\"bench\":\"accepts\",\"engine\":\"%s\",\"batch\":%u,\"accepts_per_second\":%.0f,\"batches_per_second\":%.0f,"
      "\"client_cpu_us_per_batch\":%.0f,\"synced_appends_per_second\":%.0f}\n",
      engine, batch, batches_per_second * batch, batches_per_second,
      (process_cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(batches), appends_per_second);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "coterie-bench-accepts: updates accepted durably a second, by the size of a batch, on SQLite and PostgreSQL"};
  double seconds = 3;
  std::vector<uint32_t> batches = {1, 8, 64, 256};
  app.add_option("--seconds", seconds, "of each measurement");
  app.add_option("--batches", batches, "updates a batch");
  CLI11_PARSE(app, argc, argv);

  test::TemporaryDirectory directory;
  const double appends = synced_appends_per_second(directory.path(), seconds);
  {
    const auto store = SqlTrainingStore::open(open_sqlite(directory / "db"));
    if (!store) die(store.error().message());
    for (const uint32_t batch : batches) measure("sqlite", **store, batch, seconds, appends);
  }
  if (!test::PostgresServer::is_installed()) {
    std::printf(
        "{\"bench\":\"accepts\",\"engine\":\"postgres\",\"missing\":\"not installed (apt-get install "
        "postgresql-15)\"}\n");
    return 0;
  }
  const auto postgres = test::PostgresServer::start_durable();
  if (!postgres) die(postgres.error().message());
  const auto store = SqlTrainingStore::open(open_postgres({.conninfo = (*postgres)->conninfo(), .schema = "coterie"}));
  if (!store) die(store.error().message());
  for (const uint32_t batch : batches) measure("postgres", **store, batch, seconds, appends);
}

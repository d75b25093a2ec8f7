// PostgresServer: a real PostgreSQL server of this test's own: on a socket in a directory of its own, no TCP, as the
// user "postgres" or "nobody" when the test is root (PostgreSQL refuses to be). It goes with the test.
//
// Unless it is to be durable, fsync is off and the disk is memory, so that tests are fast: a server that is killed
// loses nothing by it, a machine that loses power would.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

class PostgresServer {
 public:
  // Whether Debian's postgresql is installed; tests skip without.
  static bool is_installed();
  static Result<std::unique_ptr<PostgresServer>> start();
  // On the disk of temporary files, as an installed one writes to it: for measurements.
  static Result<std::unique_ptr<PostgresServer>> start_durable();
  // One for a whole test program, started when it is first asked for.
  static Result<PostgresServer*> shared();
  ~PostgresServer();

  const std::string& conninfo() const { return conninfo_; }
  // The file of its socket, for whoever stands in between; and what to connect with to a port of 127.0.0.1 that leads
  // there.
  std::string socket_path() const { return directory_ / ".s.PGSQL.5432"; }
  static std::string conninfo_at(uint16_t port);
  // A schema's name that nobody else has.
  std::string fresh_schema();

  // As a crash: nothing is written any more, every connection is cut. Then restart().
  void crash();
  Status restart();
  // Every process of it stands still, or goes on.
  void stall();
  void go_on();

  // ---- A pair of them (postgres_standby.cc)
  // Another one, which has all that `primary` has and follows it. `primary` outlives it, or is killed.
  static Result<std::unique_ptr<PostgresServer>> start_standby_of(PostgresServer& primary);
  // Gives up what it has and follows `primary`, at the place where it was before.
  Status follow(PostgresServer& primary);
  // From now on nothing is acknowledged that the one that follows has not written. Returns when it is so.
  Status be_synchronous();
  // kill -9 to all of its processes at once.
  void kill_at_once();
  // It follows nobody any more, and may be written to.
  Status promote();
  // Runs `statement` with psql; the error has what that said.
  Status run_sql(const std::string& statement);
  // Whoever connects so reaches the one of both that may be written to.
  static std::string conninfo_of_pair(const PostgresServer& one, const PostgresServer& other);

 private:
  enum class Durable : uint8_t { no, yes };
  explicit PostgresServer(Durable durable)
      : durable_(durable),
        directory_(durable == Durable::yes ? std::filesystem::temp_directory_path() : memory_disk()) {}
  static Result<std::unique_ptr<PostgresServer>> start(Durable durable);
  // Runs a program of PostgreSQL's to its end, as who owns the server; what it says goes to LOG in the directory.
  Status run(const std::vector<std::string>& words, const std::string& log);
  Status own_directory();
  Status launch();
  void read_log(int fd);
  void signal_all(int signal);
  std::string log();

  Durable durable_;
  TemporaryDirectory directory_;
  std::string conninfo_;
  int pid_ = -1;
  int schemas_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string log_;
  bool log_ended_ = false;
  std::thread reader_;
};

}  // namespace coterie::test

// A primary and whoever follows it: streaming replication between two servers of one test.
#include <sys/wait.h>
#include <csignal>
#include <filesystem>

#include "tests/support/postgres_server.h"

namespace coterie::test {

Result<std::unique_ptr<PostgresServer>> PostgresServer::start_standby_of(PostgresServer& primary) {
  std::unique_ptr<PostgresServer> standby(new PostgresServer(primary.durable_));
  COT_TRY(standby->own_directory());
  COT_TRY(standby->follow(primary));
  return standby;
}

// -R writes where its primary is, and that it is to follow.
Status PostgresServer::follow(PostgresServer& primary) {
  crash();
  std::error_code ignored;
  std::filesystem::remove_all(directory_ / "data", ignored);
  COT_TRY(run({"pg_basebackup", "-D", directory_ / "data", "-h", primary.directory_.path(), "-U", "coterie", "-X",
               "stream", "-c", "fast", "--no-sync", "-R"},
              "basebackup.log"));
  return launch();
}

Status PostgresServer::be_synchronous() {
  COT_TRY(run_sql("ALTER SYSTEM SET synchronous_standby_names = '*'"));
  COT_TRY(run_sql("SELECT pg_reload_conf()"));
  return run_sql(
      "SET statement_timeout = '60s'; DO $$ BEGIN WHILE NOT EXISTS "
      "(SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync') "
      "LOOP PERFORM pg_stat_clear_snapshot(); PERFORM pg_sleep(0.02); END LOOP; END $$");
}

void PostgresServer::kill_at_once() {
  signal_all(SIGKILL);
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  if (reader_.joinable()) reader_.join();
}

// Whoever it was copied from waited for a standby; this one has none yet.
Status PostgresServer::promote() {
  COT_TRY(run_sql("SELECT pg_promote(true, 60)"));
  COT_TRY(run_sql("ALTER SYSTEM SET synchronous_standby_names = ''"));
  return run_sql("SELECT pg_reload_conf()");
}

Status PostgresServer::run_sql(const std::string& statement) {
  return run({"psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", directory_.path(), "-U", "coterie", "-d", "postgres",
              "-c", statement},
             "psql.log");
}

std::string PostgresServer::conninfo_of_pair(const PostgresServer& one, const PostgresServer& other) {
  return "host=" + one.directory_.path() + "," + other.directory_.path() +
         " user=coterie dbname=postgres target_session_attrs=read-write";
}

}  // namespace coterie::test

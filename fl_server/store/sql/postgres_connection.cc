#include "fl_server/store/sql/postgres_connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/log.h"
#include "base/os/clock.h"

namespace coterie {
namespace {

constexpr int kServerVersionMin = 130'000;
// How long others wait for the locks of a server that stands still in the middle of a transaction. Less than what is
// left of a lease when its holder stops (ttl - renew_every, 7 s): then whoever takes the lead over need not wait for
// it.
constexpr Millis kIdleInTransactionMax{5'000};

// PostgreSQL, appendix A: by class, and by code where that says more.
ErrorCode code_of(std::string_view sqlstate) {
  struct Row {
    std::string_view state;
    ErrorCode code;
  };
  static constexpr std::array<Row, 10> kStates = {{
      {"23505", ErrorCode::conflict},           // unique_violation
      {"53100", ErrorCode::storage_full},       // disk_full
      {"57014", ErrorCode::timed_out},          // query_canceled: statement_timeout
      {"55P03", ErrorCode::timed_out},          // lock_not_available: lock_timeout
      {"28", ErrorCode::permission_denied},     // invalid authorization
      {"42501", ErrorCode::permission_denied},  // insufficient_privilege
      {"22021", ErrorCode::invalid_argument},   // character_not_in_repertoire: a zero byte in a text
      {"42", ErrorCode::data_loss},             // our own SQL, so it must be the tables
      {"XX00", ErrorCode::data_loss},           // data_corrupted, index_corrupted
      {"23", ErrorCode::conflict},              // another constraint
  }};
  for (const Row& row : kStates) {
    if (sqlstate.starts_with(row.state)) return row.code;
  }
  return ErrorCode::unavailable;
}

// That needs no quotes.
bool is_plain_name(std::string_view name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 63 && (name[0] < '0' || name[0] > '9') && std::ranges::all_of(name, is_plain);
}

// libpq ends its messages with a line break, and has several lines.
std::string one_line(const char* text) {
  std::string line = text == nullptr ? "" : text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

Status PostgresConnection::ensure() {
  if (connection_ && PQstatus(connection_.get()) == CONNECTION_OK) return {};
  connection_.reset();
  Status connected = connect();
  if (!connected) connection_.reset();
  return connected;
}

Status PostgresConnection::connect() {
  char* complaint = nullptr;
  PQconninfoOption* options = PQconninfoParse(settings_.conninfo.c_str(), &complaint);
  PQfreemem(complaint);  // it may quote the string, and the password in it
  if (options == nullptr) {
    return Error(ErrorCode::invalid_argument,
                 "database: the connection string does not parse; it must be libpq's: host=... dbname=... user=..., or "
                 "postgresql://user@host/dbname");
  }
  PQconninfoFree(options);
  if (!is_plain_name(settings_.schema)) {
    return Error(ErrorCode::invalid_argument,
                 "database: the schema's name must be of lower-case letters, digits and _, 1 to 63 of them, "
                 "is \"" +
                     settings_.schema + "\"");
  }

  const std::string connect_seconds = std::to_string(std::max<int64_t>(2, settings_.connect_max.count() / 1000));
  const std::string answer_ms = std::to_string(settings_.statement_max.count());
  // Ours first: what the string says goes before.
  const std::array<const char*, 8> keys = {
      "application_name", "client_encoding",     "connect_timeout", "tcp_user_timeout",
      "keepalives_idle",  "keepalives_interval", "dbname",          nullptr};
  const std::array<const char*, 8> values = {"coterie", "UTF8", connect_seconds.c_str(),    answer_ms.c_str(),
                                             "10",      "5",    settings_.conninfo.c_str(), nullptr};
  connection_.reset(PQconnectdbParams(keys.data(), values.data(), 1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    return Error(ErrorCode::unavailable, "database: cannot connect: " + one_line(PQerrorMessage(connection_.get())));
  }
  ++generation_;
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  if (PQserverVersion(connection_.get()) < kServerVersionMin) {
    return Error(ErrorCode::unsupported_version, "database: PostgreSQL " +
                                                     std::to_string(PQserverVersion(connection_.get()) / 10'000) +
                                                     " is too old; 13 or newer is needed");
  }
  COT_TRY(execute(
      "SET statement_timeout = " + answer_ms + "; SET lock_timeout = " + std::to_string(settings_.lock_max.count()) +
      "; SET idle_in_transaction_session_timeout = " + std::to_string(kIdleInTransactionMax.count()) +
      "; SET default_transaction_isolation = 'read committed'; SET search_path = " + settings_.schema +
      // Nothing is acknowledged that a crash could undo.
      "; SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"));
  // Only if it is not there: whoever may not make one may use one.
  return execute("DO $$ BEGIN IF to_regnamespace('" + settings_.schema +
                 "') IS NULL THEN CREATE SCHEMA IF NOT EXISTS " + settings_.schema + "; END IF; END $$");
}

Error PostgresConnection::lost(const std::string& why) {
  drop();
  sqlstate_.clear();
  return Error(ErrorCode::unavailable, "database: the connection was lost: " + why);
}

Status PostgresConnection::sent(int sent) {
  if (sent == 1) return {};
  return lost(one_line(PQerrorMessage(connection_.get())));
}

Result<PostgresResult> PostgresConnection::next() {
  if (!connection_) return Error(ErrorCode::unavailable, "database: the connection was lost");
  const Instant until =
      os::monotonic_now() + settings_.statement_max + Millis(1'000);  // the server's own limit goes first
  while (PQisBusy(connection_.get()) != 0) {
    const Millis left = until - os::monotonic_now();
    pollfd waiting{.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
    const int ready = left > Millis(0) ? ::poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      drop();
      return Error(ErrorCode::timed_out,
                   "database: no answer in " + std::to_string(settings_.statement_max.count()) + " ms");
    }
    if (PQconsumeInput(connection_.get()) != 1) return lost(one_line(PQerrorMessage(connection_.get())));
  }
  return PostgresResult(PQgetResult(connection_.get()));
}

Result<PostgresResult> PostgresConnection::finish() {
  PostgresResult last;
  std::optional<Error> error;
  for (;;) {
    COT_ASSIGN(PostgresResult result, next());
    if (!result) break;
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
      if (!error) error = error_of(result.get());
    } else {
      last = std::move(result);
    }
  }
  if (PQstatus(connection_.get()) != CONNECTION_OK) drop();
  if (error) return *error;
  return last;
}

Status PostgresConnection::execute(const std::string& sql) {
  if (!connection_) return Error(ErrorCode::unavailable, "database: the connection was lost");
  COT_TRY(sent(PQsendQuery(connection_.get(), sql.c_str())));
  COT_ASSIGN(const PostgresResult result, finish());
  (void)result;
  return {};
}

Error PostgresConnection::error_of(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  sqlstate_ = state == nullptr ? "" : state;
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return Error(code_of(sqlstate_),
               "database: " + one_line(message == nullptr ? PQresultErrorMessage(result) : message) +
                   (sqlstate_.empty() ? "" : " (" + sqlstate_ + ")"));
}

// serialization_failure, deadlock_detected
bool PostgresConnection::was_race() const { return sqlstate_ == "40001" || sqlstate_ == "40P01"; }

}  // namespace coterie

// PostgresConnection: libpq with time limits: connects, sends, waits. The only header that sees libpq.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fl_server/store/sql/postgres.h"

namespace coterie {

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PostgresResult = std::unique_ptr<PGresult, ClearResult>;

class PostgresConnection {
 public:
  explicit PostgresConnection(PostgresSettings settings) : settings_(std::move(settings)) {}

  // Connects, if it is not connected. `generation` grows with each connection: what was prepared is gone.
  Status ensure();
  bool is_connected() const { return connection_ != nullptr; }
  uint64_t generation() const { return generation_; }
  PGconn* handle() { return connection_.get(); }

  // Whether something could be sent (`sent` is libpq's answer).
  Status sent(int sent);
  // The next result of what was sent; null at its end. A connection that hangs or is lost is closed.
  Result<PostgresResult> next();
  // All results of what was sent: the last one, or the first error.
  Result<PostgresResult> finish();
  Status execute(const std::string& sql);
  // Gives the connection up.
  void drop() { connection_.reset(); }

  // What the error means; remembers its SQLSTATE.
  Error error_of(const PGresult* result);
  bool was_race() const;

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  Status connect();
  Error lost(const std::string& why);

  PostgresSettings settings_;
  std::unique_ptr<PGconn, Finish> connection_;
  uint64_t generation_ = 0;
  std::string sqlstate_;
};

}  // namespace coterie

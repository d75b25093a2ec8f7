#include "fl_server/store/sql/postgres.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/assert.h"
#include "fl_server/store/sql/postgres_connection.h"

namespace coterie {
namespace {

// Object identifiers of the types we have (pg_type.dat).
constexpr Oid kBytea = 17, kInt8 = 20, kFloat8 = 701;
// Text goes as it is into columns of text, and of bytes where strangers write it: PostgreSQL's text is valid UTF-8.
constexpr Oid kInferred = 0;
constexpr int kBinary = 1;
// Sent without waiting for an answer: few enough for their answers to fit into the sockets' buffers.
constexpr size_t kPipelineMax = 256;

std::string big_endian(uint64_t value) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i));
  return bytes;
}

uint64_t from_big_endian(const char* data, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(data[i]);
  return value;
}

int changes_of(const PGresult* result) {
  const char* text = PQcmdTuples(const_cast<PGresult*>(result));
  int changes = 0;
  std::from_chars(text, text + std::strlen(text), changes);
  return changes;
}

class PostgresDriver;

class PostgresStatement final : public SqlStatement {
 public:
  PostgresStatement(PostgresDriver& driver, const char* sql, size_t number)
      : driver_(driver), name_("s" + std::to_string(number)), text_(postgres_text(sql)) {}

  void bind_text(int parameter, std::string_view text) override { bind(parameter, kInferred, std::string(text)); }
  void bind_blob(int parameter, ByteView blob) override { bind(parameter, kBytea, std::string(as_text(blob))); }
  void bind_integer(int parameter, int64_t value) override {
    bind(parameter, kInt8, big_endian(static_cast<uint64_t>(value)));
  }
  void bind_real(int parameter, double value) override {
    bind(parameter, kFloat8, big_endian(std::bit_cast<uint64_t>(value)));
  }
  void bind_null(int parameter) override { bind(parameter, kInferred, std::nullopt); }
  Result<bool> step() override;
  bool is_null(int column) const override { return PQgetisnull(rows_.get(), row_, column) != 0; }
  std::string_view text(int column) const override { return {PQgetvalue(rows_.get(), row_, column), size(column)}; }
  ByteView blob(int column) const override { return as_bytes(text(column)); }
  int64_t integer(int column) const override {
    const int bytes = PQgetlength(rows_.get(), row_, column);
    const uint64_t value = from_big_endian(PQgetvalue(rows_.get(), row_, column), bytes);
    // SELECT 1 is of four bytes.
    return bytes == 4 ? static_cast<int32_t>(static_cast<uint32_t>(value)) : static_cast<int64_t>(value);
  }
  double real(int column) const override { return std::bit_cast<double>(static_cast<uint64_t>(integer(column))); }
  void reset() override {
    rows_.reset();
    parameters_.clear();
  }

  // Only reads: to be repeated whenever.
  bool is_read() const { return text_.starts_with("SELECT"); }
  Status prepare(PostgresConnection& connection);
  Status send(PostgresConnection& connection);

 private:
  struct Parameter {
    Oid type = 0;
    std::optional<std::string> value;
  };
  void bind(int parameter, Oid type, std::optional<std::string> value) {
    if (parameters_.size() < static_cast<size_t>(parameter)) parameters_.resize(static_cast<size_t>(parameter));
    parameters_[static_cast<size_t>(parameter) - 1] = {type, std::move(value)};
  }
  size_t size(int column) const { return static_cast<size_t>(PQgetlength(rows_.get(), row_, column)); }

  PostgresDriver& driver_;
  const std::string name_;
  const std::string text_;
  uint64_t prepared_on_ = 0;  // the connection's generation
  std::vector<Parameter> parameters_;
  PostgresResult rows_;
  int row_ = 0;
};

class PostgresDriver final : public SqlDriver {
 public:
  explicit PostgresDriver(const PostgresSettings& settings) : connection_(settings) {}

  Status connect() { return connection_.ensure(); }
  SqlEngine engine() const override { return SqlEngine::postgres; }

  Result<SqlStatement*> prepare(const char* sql) override {
    auto& cached = statements_[sql];
    if (!cached) cached = std::make_unique<PostgresStatement>(*this, sql, statements_.size());
    return cached.get();
  }

  Status execute(const char* sql) override {
    COT_TRY(ready());
    return connection_.execute(sql);
  }

  int changes() const override { return changes_; }

  Status begin() override {
    COT_ASSERT(!in_transaction_);
    COT_TRY(connection_.ensure());
    Status begun = connection_.execute("BEGIN");
    if (!begun && !connection_.is_connected()) {  // it was lost while it was idle; nothing is under way
      COT_TRY(connection_.ensure());
      begun = connection_.execute("BEGIN");
    }
    in_transaction_ = static_cast<bool>(begun);
    return begun;
  }

  Status commit() override {
    const Status done = connection_.execute("COMMIT");
    if (done) in_transaction_ = false;
    return done;
  }

  // Also of a transaction that is lost with its connection.
  void rollback() override {
    in_transaction_ = false;
    if (connection_.is_connected() && PQtransactionStatus(connection_.handle()) != PQTRANS_IDLE &&
        !connection_.execute("ROLLBACK")) {
      connection_.drop();
    }
  }
  bool was_race() const override { return connection_.was_race(); }

  Result<PostgresResult> run(PostgresStatement& statement) {
    COT_TRY(ready());
    Result<PostgresResult> rows = run_once(statement);
    const bool was_idle = !rows && rows.error().code() == ErrorCode::unavailable && !connection_.is_connected();
    if (was_idle && !in_transaction_ && statement.is_read()) {  // the server was started anew since
      COT_TRY(connection_.ensure());
      rows = run_once(statement);
    }
    if (rows) changes_ = changes_of(rows->get());
    return rows;
  }

  Status execute_many(SqlStatement& any, size_t count, const std::function<void(size_t)>& bind,
                      std::vector<int>& changes) override {
    auto& statement = static_cast<PostgresStatement&>(any);
    COT_TRY(ready());
    for (size_t begin = 0; begin < count; begin += kPipelineMax) {
      COT_TRY(pipeline(statement, begin, std::min(count, begin + kPipelineMax), bind, changes));
    }
    return {};
  }

 private:
  // A transaction is not gone on with on another connection.
  Status ready() {
    if (!in_transaction_) return connection_.ensure();
    if (connection_.is_connected()) return {};
    return Error(ErrorCode::unavailable, "database: the connection was lost in the middle of a transaction");
  }

  Result<PostgresResult> run_once(PostgresStatement& statement) {
    COT_TRY(statement.prepare(connection_));
    COT_TRY(statement.send(connection_));
    return connection_.finish();
  }

  Status pipeline(PostgresStatement& statement, size_t begin, size_t end, const std::function<void(size_t)>& bind,
                  std::vector<int>& changes) {
    bind(begin);
    COT_TRY(statement.prepare(connection_));
    COT_TRY(connection_.sent(PQenterPipelineMode(connection_.handle())));
    for (size_t i = begin; i < end; ++i) {
      if (i > begin) bind(i);
      COT_TRY(statement.send(connection_));
    }
    COT_TRY(connection_.sent(PQpipelineSync(connection_.handle())));
    // After an error, too, all answers are read: the connection is to be used again, if only for ROLLBACK.
    std::optional<Error> error;
    for (size_t i = begin; i < end; ++i) {
      COT_ASSIGN(const PostgresResult result, connection_.next());
      const ExecStatusType status = PQresultStatus(result.get());
      if (status == PGRES_COMMAND_OK) {
        changes.push_back(changes_of(result.get()));
      } else if (status != PGRES_PIPELINE_ABORTED && !error) {
        error = connection_.error_of(result.get());
      }
      COT_ASSIGN(const PostgresResult none, connection_.next());  // each answer ends so
      if (none) return Error(ErrorCode::internal, "database: an answer too many");
    }
    COT_ASSIGN(const PostgresResult sync, connection_.next());
    if (PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC || PQexitPipelineMode(connection_.handle()) != 1)
      connection_.drop();
    if (error) return *error;
    return {};
  }

  PostgresConnection connection_;
  std::unordered_map<const char*, std::unique_ptr<PostgresStatement>> statements_;
  int changes_ = 0;
  bool in_transaction_ = false;
};

Result<bool> PostgresStatement::step() {
  if (rows_) return ++row_ < PQntuples(rows_.get());
  COT_ASSIGN(rows_, driver_.run(*this));
  row_ = 0;
  return rows_ && PQntuples(rows_.get()) > 0;
}

Status PostgresStatement::prepare(PostgresConnection& connection) {
  if (prepared_on_ == connection.generation()) return {};  // a new connection knows no statement
  std::vector<Oid> types;
  for (const Parameter& parameter : parameters_) types.push_back(parameter.type);
  COT_TRY(connection.sent(
      PQsendPrepare(connection.handle(), name_.c_str(), text_.c_str(), static_cast<int>(types.size()), types.data())));
  COT_ASSIGN(const PostgresResult result, connection.finish());
  (void)result;
  prepared_on_ = connection.generation();
  return {};
}

Status PostgresStatement::send(PostgresConnection& connection) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(parameters_.size(), kBinary);
  for (const Parameter& parameter : parameters_) {
    values.push_back(parameter.value ? parameter.value->data() : nullptr);
    lengths.push_back(parameter.value ? static_cast<int>(parameter.value->size()) : 0);
  }
  return connection.sent(PQsendQueryPrepared(connection.handle(), name_.c_str(), static_cast<int>(values.size()),
                                             values.data(), lengths.data(), formats.data(), kBinary));
}

}  // namespace

Result<Database> open_postgres(const PostgresSettings& settings) {
  auto driver = std::make_unique<PostgresDriver>(settings);
  COT_TRY(driver->connect());
  return Database(std::move(driver));
}

}  // namespace coterie

// GateStore: rows of numbers beside the rows of attempts.
#include "fl_server/store/sql_training_store.h"

namespace coterie {

// Without the leader's fence: every node has its own row, and no round depends on it.
Status SqlTrainingStore::keep_gates(const RoundKey& key, const GateRow& row) {
  const std::lock_guard lock(mutex_);
  Statement insert = database_.prepare(
      "INSERT INTO round_gates(round, attempt, life, asked, gates) SELECT r.id, r.attempt, ?3, ?4, ?5 FROM round r "
      "WHERE r.id = ?1 AND r.attempt = ?2 "
      "ON CONFLICT(round, attempt, life) DO UPDATE SET asked = excluded.asked, gates = excluded.gates");
  insert << key.round.value() << key.attempt.value() << row.life << row.asked << gates_text(row);
  return insert.run();
}

Result<std::vector<GateRow>> SqlTrainingStore::list_gates(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  Statement rows =
      database_.prepare("SELECT life, asked, gates FROM round_gates WHERE round = ? AND attempt = ? ORDER BY life");
  rows << key.round.value() << key.attempt.value();
  std::vector<GateRow> gates;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return gates;
    COT_ASSIGN(GateRow row, gate_row_from(rows.text(0), rows.u64(1), rows.text(2)));
    gates.push_back(std::move(row));
  }
}

}  // namespace coterie

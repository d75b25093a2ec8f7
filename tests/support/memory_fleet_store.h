// MemoryFleetStore: the FleetStore contract as plainly as it can be written, with leases beside it, as a
// database has them.
#pragma once

#include <map>
#include <mutex>

#include "fl_server/store/fleet_store.h"
#include "tests/support/memory_lease_store.h"

namespace coterie::test {

class MemoryFleetStore final : public FleetStore {
 public:
  Status say(const FleetNodeRow& row, const std::string& former, Millis silence_max) override {
    const std::lock_guard lock(mutex_);
    const auto [found, is_fresh] = rows_.try_emplace(row.node, Row{row, now_});
    const std::string& present = found->second.said.incarnation;
    if (!is_fresh && present != row.incarnation && present != former && found->second.seen > now_ - silence_max) {
      return Error(ErrorCode::conflict, "fleet: another server calls itself " + row.node);
    }
    found->second = {row, now_};
    return {};
  }
  Status leave(const std::string& node, const std::string& incarnation) override {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(node);
    if (found != rows_.end() && found->second.said.incarnation == incarnation) rows_.erase(found);
    return {};
  }
  Result<std::vector<FleetNodeRow>> nodes() override {
    const std::lock_guard lock(mutex_);
    std::vector<FleetNodeRow> nodes;
    for (const auto& [name, row] : rows_) {
      nodes.push_back(row.said);
      nodes.back().age = now_ - row.seen;
    }
    return nodes;
  }
  Status forget_nodes(Millis age_min) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(rows_, [&](const auto& row) { return row.second.seen <= now_ - age_min; });
    return {};
  }
  Result<std::string> lease_holder(const std::string& lease) override { return leases_.holder_of(lease); }

  Result<std::optional<FleetBoard>> read_board(uint64_t known_revision) override {
    const std::lock_guard lock(mutex_);
    if (board_.revision == known_revision) return std::optional<FleetBoard>();
    return std::optional<FleetBoard>(board_);
  }
  Result<uint64_t> write_board(const std::string& lease, LeaseEpoch epoch, const std::string& text) override {
    const std::lock_guard lock(mutex_);
    if (epoch.value() == 0 || leases_.epoch_of(lease) != epoch) {
      return Error(ErrorCode::conflict, "fleet: this server does not lead any more");
    }
    board_ = {board_.revision + 1, text};
    return board_.revision;
  }

  MemoryLeaseStore& leases() { return leases_; }

 private:
  struct Row {
    FleetNodeRow said;
    Millis seen{0};
  };
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
  FleetBoard board_;
  MemoryLeaseStore leases_;
  Millis now_{1};  // stands still: what must be over is over at once, what must last lasts long
};

}  // namespace coterie::test

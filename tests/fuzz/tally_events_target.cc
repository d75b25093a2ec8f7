// Any order of rounds, reports and deaths that a fleet's nodes may bring its tally. Nodes give tickets up to their
// share, which they know at once, and are heard before shares are dealt anew. Its invariants hold after each step, no
// round has more tickets than it asked for, and while somebody wants one no ticket stays behind.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/assert.h"
#include "scheduler/fleet/fleet_tally.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

constexpr Millis kSilenceMax{1'000};
constexpr uint32_t kTicketsMax = 40;

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes) {}

  void run() {
    while (!bytes_.is_over()) choose();
    // Behind the end one node has crowds that want all the tickets there are.
    if (rounds_.empty()) return;
    NodeRow& last = come();
    for (int turn = 0; turn < 4; ++turn) {
      for (const auto& [key, tickets] : rounds_) {
        give(last, key, kTicketsMax);
        last.report.lacking[key] = 2 * kTicketsMax;
      }
      hear();
    }
    for (const auto& [key, tickets] : rounds_) {
      give(last, key, kTicketsMax);
      hear();
      uint64_t kept = 0;  // by nodes whose own devices want them
      for (const NodeRow& row : rows_) {
        const bool is_last = row.report.incarnation == last.report.incarnation;
        const auto wanted = row.report.lacking.find(key);
        if (is_last || row.report.draining || wanted == row.report.lacking.end()) continue;
        kept += std::min<uint64_t>(left(row, key), wanted->second);
      }
      COT_ASSERT(tally_.issued(key) + kept >= tickets);
    }
  }

 private:
  void choose() {
    switch (bytes_.below(10)) {
      case 0: return serve();
      case 1: return withdraw();
      case 2:
        if (rows_.size() < 5) come();
        return hear();
      case 3: return die();
      case 4: return drain();
      case 5: return want();
      case 6:
      case 7:
        if (!rows_.empty() && !rounds_.empty()) give(some_node(), some_round(), 1 + bytes_.below(8));
        return;
      case 8: return take_back();
      default: return hear();
    }
  }

  RoundKey some_round() {
    auto round = rounds_.begin();
    std::advance(round, bytes_.below(rounds_.size()));
    return round->first;
  }
  NodeRow& some_node() { return rows_[bytes_.below(rows_.size())]; }

  // A round has its tickets from its begin to its end. It may be said again.
  void serve() {
    const RoundKey key{RoundId(1 + bytes_.below(3)), Attempt(1)};
    const auto [round, is_new] = rounds_.try_emplace(key, 1 + bytes_.below(kTicketsMax));
    if (is_new) {
      for (NodeRow& row : rows_) {
        row.report.issued.erase(key);
        row.report.lacking.erase(key);
        row.report.accepted.erase(key);
      }
    }
    tally_.serve(key, Population("p"), round->second);
    look();
  }
  void withdraw() {
    if (rounds_.empty()) return;
    const RoundKey key = some_round();
    tally_.withdraw(key);
    rounds_.erase(key);
    accepted_.erase(key);
  }

  NodeRow& come() {
    NodeRow row;
    row.report.node = row.report.incarnation = "n" + std::to_string(++last_node_);
    row.report.serves = true;
    row.report.waiting[Population("p")] = bytes_.below(20);
    rows_.push_back(std::move(row));
    return rows_.back();
  }
  void die() {
    if (rows_.empty()) return;
    some_node().age = kSilenceMax;
    hear();
    std::erase_if(rows_, [](const NodeRow& row) { return row.age >= kSilenceMax; });
  }
  void drain() {
    if (!rows_.empty()) some_node().report.draining = true;
  }
  void want() {
    if (rows_.empty() || rounds_.empty()) return;
    some_node().report.lacking[some_round()] = bytes_.below(30);
  }

  uint32_t left(const NodeRow& row, const RoundKey& key) const {
    const TicketShares& shares = tally_.shares(key);
    const auto share = shares.find(row.report.incarnation);
    const auto issued = row.report.issued.find(key);
    const uint32_t given = issued == row.report.issued.end() ? 0 : issued->second;
    return share == shares.end() || share->second < given ? 0 : share->second - given;
  }
  void give(NodeRow& row, const RoundKey& key, uint32_t wanted) {
    const uint32_t given = std::min(wanted, left(row, key));
    row.report.issued[key] += given;
    row.report.accepted[key] = row.report.issued[key] / 2;  // a report that comes late has fewer
    hear();
  }
  // A ticket could not be handed over.
  void take_back() {
    if (rows_.empty() || rounds_.empty()) return;
    uint32_t& issued = some_node().report.issued[some_round()];
    issued -= std::min(issued, 1u);
    hear();
  }

  void hear() {
    tally_.hear(rows_);
    look();
  }

  void look() {
    tally_.check();
    for (const auto& [key, tickets] : rounds_) {
      COT_ASSERT(tally_.issued(key) <= tickets);
      uint64_t& accepted = accepted_[key];
      COT_ASSERT(tally_.accepted(key) >= accepted);
      accepted = tally_.accepted(key);
    }
  }

  test::EventBytes bytes_;
  FleetTally tally_{kSilenceMax};
  std::map<RoundKey, uint32_t> rounds_;  // that are served: their tickets
  std::map<RoundKey, uint64_t> accepted_;
  std::vector<NodeRow> rows_;  // as the store has them
  uint64_t last_node_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}

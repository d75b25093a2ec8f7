// Two tables of the server under any order of what changes them, their invariants after each step: the connections of a
// listener, of which each leaves once; and the versions of a served model, of which nobody gets one that is not there.
#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "fl_server/core/connection_table.h"
#include "fl_server/serving/version_table.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

class Connections {
 public:
  void step(test::EventBytes& bytes) {
    switch (bytes.below(8)) {
      case 0:
      case 1:
      case 2: enter(bytes); break;
      case 3:
        if (!open_.empty()) table_.known(open_[bytes.below(open_.size())]);
        break;
      case 4:
        if (!open_.empty()) close(bytes.below(open_.size()));
        break;
      default: now_ += Millis(bytes.next()); break;
    }
    table_.check();
    COT_ASSERT(table_.size() == open_.size());
  }
  void end() {
    while (!open_.empty()) close(0);
    table_.check();
    COT_ASSERT(table_.size() == 0 && table_.strangers() == 0);
  }

 private:
  void enter(test::EventBytes& bytes) {
    const CallerKey address{bytes.below(4), 0};
    const EntryDecision decision = table_.enter(address, bytes.one_in(3), now_);
    COT_ASSERT(decision.entry == Entry::let_in || !decision.evicted);
    if (decision.entry == Entry::let_in) open_.push_back(decision.id);
    if (decision.evicted) COT_ASSERT(std::ranges::count(open_, *decision.evicted) == 1);
  }
  void close(size_t which) {
    table_.closed(open_[which]);
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(which));
  }

  ConnectionTable table_{{.connections_max = 5, .per_address_max = 2, .grace = Millis(300)}, 7};
  Instant now_{};
  std::vector<ConnectionId> open_;
};

class Versions {
 public:
  void step(test::EventBytes& bytes) {
    const uint64_t number = 1 + bytes.below(8);
    Digest digest;
    digest.bytes[0] = static_cast<uint8_t>(bytes.one_in(8) ? 99 : number);
    switch (bytes.below(6)) {
      case 0:
      case 1:
      case 2: {
        const auto standing = static_cast<Standing>(bytes.below(3));
        const auto known = table_.versions().find(number);
        const bool is_other = known != table_.versions().end() && known->second != digest;
        const auto gone = table_.add(number, digest, standing);
        COT_ASSERT(gone.has_value() != is_other);
        if (gone && standing == Standing::promoted) COT_ASSERT(table_.promoted() == number);
        break;
      }
      case 3: {
        const bool is_there = table_.versions().contains(number);
        if (bytes.one_in(3)) COT_ASSERT(table_.promote(std::nullopt).has_value());
        else COT_ASSERT(table_.promote(number).has_value() == is_there);
        break;
      }
      case 4: table_.withhold(); break;
      default:
        if (bytes.one_in(4)) (void)table_.drop_spares();
        else table_.remove(number);
        break;
    }
    table_.check();
    look(bytes.next());
  }

 private:
  // Whatever a name leads to is there, and where something was released applications get what was.
  void look(uint64_t hash) const {
    for (const char* name : {"", "latest", "promoted", "3"}) {
      const auto version = table_.resolve(name);
      if (version) COT_ASSERT(table_.versions().contains(*version));
    }
    const auto given = table_.resolve("");
    if (given && table_.is_released()) COT_ASSERT(table_.promoted() == *given);
    const auto chosen = table_.choose(hash, 50);
    if (chosen) COT_ASSERT(table_.versions().contains(*chosen));
    if (const auto candidate = table_.candidate()) COT_ASSERT(table_.promoted() && *candidate != *table_.promoted());
  }

  VersionTable table_{2};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4'096) return 0;
  test::EventBytes bytes(data, size);
  Connections connections;
  Versions versions;
  while (!bytes.is_over()) {
    if (bytes.one_in(2)) connections.step(bytes);
    else versions.step(bytes);
  }
  connections.end();
  return 0;
}

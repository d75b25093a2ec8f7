#include "fl_server/core/connection_table.h"

#include <algorithm>

namespace coterie {

void ConnectionTable::check_if_due() {
  if (step_check_.is_due(connections_.size())) check();
}

EntryDecision ConnectionTable::enter(const CallerKey& address, bool is_trusted, Instant now) {
  const EntryDecision decision = decide(address, is_trusted, now);
  COT_INVARIANT((decision.entry == Entry::let_in) == connections_.contains(decision.id),
                "who is let in has a connection, and nobody else");
  check_if_due();
  return decision;
}

EntryDecision ConnectionTable::decide(const CallerKey& address, bool is_trusted, Instant now) {
  const auto counted = by_address_.find(address);
  if (!is_trusted && counted != by_address_.end() && counted->second >= settings_.per_address_max) {
    return {.entry = Entry::address_full, .id = {}, .evicted = {}};
  }
  EntryDecision decision{.entry = Entry::let_in, .id = ConnectionId(next_id_), .evicted = {}};
  if (connections_.size() - leaving_ >= settings_.connections_max) {
    decision.evicted = evict(now);
    if (!decision.evicted) return {.entry = Entry::full, .id = {}, .evicted = {}};
  }
  ++next_id_;
  strangers_.push_back({decision.id, now});
  connections_.emplace(decision.id, Connection{address, std::prev(strangers_.end()), false});
  ++by_address_[address];
  return decision;
}

std::optional<ConnectionId> ConnectionTable::evict(Instant now) {
  if (strangers_.empty() || now - strangers_.front().came < settings_.grace) return std::nullopt;
  if (leaving_ >= std::max<size_t>(1, settings_.connections_max / 16)) return std::nullopt;
  const ConnectionId id = strangers_.front().id;
  strangers_.pop_front();
  Connection& connection = must_find(connections_, id, "a stranger stands in line as long as it is there");
  connection.stranger.reset();
  connection.leaves = true;
  ++leaving_;
  const auto counted = by_address_.find(connection.address);
  if (--counted->second == 0) by_address_.erase(counted);
  return id;
}

void ConnectionTable::known(ConnectionId id) {
  const auto found = connections_.find(id);
  COT_ASSERT(found != connections_.end());
  if (!found->second.stranger) return;
  strangers_.erase(*found->second.stranger);
  found->second.stranger.reset();
  check_if_due();
}

void ConnectionTable::closed(ConnectionId id) {
  const auto found = connections_.find(id);
  COT_ASSERT(found != connections_.end());
  const Connection& connection = found->second;
  if (connection.stranger) strangers_.erase(*connection.stranger);
  if (connection.leaves) {
    --leaving_;
  } else if (const auto counted = by_address_.find(connection.address); --counted->second == 0) {
    by_address_.erase(counted);
  }
  connections_.erase(found);
  check_if_due();
}

void ConnectionTable::check() const {
  size_t leaving = 0, strangers = 0;
  for (const auto& [id, connection] : connections_) {
    leaving += connection.leaves ? 1 : 0;
    strangers += connection.stranger ? 1 : 0;
    COT_INVARIANT(!connection.leaves || !connection.stranger, "a connection that was told to go is no stranger's");
  }
  size_t counted = 0;
  for (const auto& [address, count] : by_address_) {
    COT_INVARIANT(count > 0, "an address without connections is forgotten");
    counted += count;
  }
  COT_INVARIANT(leaving == leaving_, "those that were told to go are counted");
  COT_INVARIANT(strangers == strangers_.size(), "each stranger stands in line once");
  COT_INVARIANT(counted + leaving == connections_.size(), "each connection that stays counts for its address");
  COT_INVARIANT(connections_.size() - leaving_ <= settings_.connections_max, "no more stay than may");
}

}  // namespace coterie

// ConnectionTable: which connections a listener has, from where, and who makes room when there is none. Pure.
//
// A connection is a stranger's until its sender has proved who it is, by a device's signature, an operator's token or
// a certificate: a silent one, one in its handshake and one that only asks /healthz are strangers. So
//   * one address has at most per_address_max connections, but for addresses that are trusted (a proxy's);
//   * where all places are taken, the oldest stranger goes, once it has had grace to prove who it is: who comes may be
//     a device, and who was known stays;
//   * without such a stranger whoever comes is refused.
// Who was told to go counts until it has gone: at most one in sixteen places is held twice meanwhile.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"
#include "fl_server/core/token_buckets.h"

namespace coterie {

using ConnectionId = StrongId<struct ConnectionTag, uint64_t>;

struct ConnectionTableSettings {
  uint32_t connections_max = 10'000;
  uint32_t per_address_max = 1'000;
  Millis grace{1'000};
};

enum class Entry : uint8_t {
  let_in,
  address_full,  // this address has all it may have
  full,
};

struct EntryDecision {
  Entry entry = Entry::full;
  ConnectionId id;                      // of who is let in
  std::optional<ConnectionId> evicted;  // is to be closed; closed() says when it is
};

class ConnectionTable {
 public:
  // `secret`: nobody makes addresses that collide.
  ConnectionTable(ConnectionTableSettings settings, uint64_t secret)
      : settings_(settings), by_address_(0, CallerHash{secret}) {}

  // Somebody connects. `is_trusted`: no limit of the address.
  EntryDecision enter(const CallerKey& address, bool is_trusted, Instant now);
  // Its sender has proved who it is; as often as it likes.
  void known(ConnectionId id);
  // It is gone, whoever ended it. Once for each that was let in.
  void closed(ConnectionId id);

  // Open, those that were told to go among them.
  size_t size() const { return connections_.size(); }
  size_t strangers() const { return strangers_.size(); }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Stranger {
    ConnectionId id;
    Instant came;
  };
  struct Connection {
    CallerKey address;
    std::optional<std::list<Stranger>::iterator> stranger;  // while it is one
    bool leaves = false;                                    // was told to go
  };
  EntryDecision decide(const CallerKey& address, bool is_trusted, Instant now);
  std::optional<ConnectionId> evict(Instant now);
  void check_if_due();

  ConnectionTableSettings settings_;
  uint64_t next_id_ = 1;
  std::unordered_map<ConnectionId, Connection> connections_;
  std::unordered_map<CallerKey, uint32_t, CallerHash> by_address_;  // connections that are not told to go
  std::list<Stranger> strangers_;                                   // the oldest in front
  size_t leaving_ = 0;
  StepCheck step_check_;
};

}  // namespace coterie

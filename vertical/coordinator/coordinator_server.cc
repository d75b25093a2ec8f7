#include "vertical/coordinator/coordinator_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/os/clock.h"
#include "vertical/coordinator/coordinator_connection.h"
#include "vertical/coordinator/dealt_frames.h"
#include "vertical/coordinator/matching_frames.h"
#include "vertical/coordinator/relay_pipe.h"
#include "vertical/link/tls_context.h"

namespace coterie::vertical {
namespace {

constexpr Millis kStopCheckEvery{100};
constexpr int kRoundsMax = 16;  // of a pair before the others have their turn
constexpr int kPiecesMax = 16;  // TLS records of a dealing or a matching, likewise
constexpr size_t kPieceBytes = 16 << 10;

Now now() { return {.instant = os::monotonic_now(), .wall = os::wall_now()}; }

class Server final : public CoordinatorServer {
 public:
  Server(PartyListener listener, TlsContext context, const CoordinatorLimits& limits, CoordinatorMachine machine,
         JobStore& store)
      : listener_(std::move(listener)),
        context_(std::move(context)),
        limits_(limits),
        machine_(std::move(machine)),
        store_(store) {}

  uint16_t port() const override { return listener_.port(); }

  Status begin() { return perform(machine_.begin(now())); }

  Status run(const std::atomic<bool>& stop) override {
    const Status status = serve_all(stop);
    // Whoever is still here sees the end at once.
    pairs_.clear();
    matchings_.clear();
    connections_.clear();
    return status;
  }

 private:
  Status serve_all(const std::atomic<bool>& stop) {
    while (!stop.load()) {
      COT_TRY(wait());
      COT_TRY(accept_all());
      std::vector<ConnectionId> ids;
      // A copy: serving one connection may close others.
      for (const auto& [id, connection] : connections_) ids.push_back(id);
      is_busy_ = false;
      for (const ConnectionId id : ids) COT_TRY(serve(id));
      COT_TRY(work_for_matchers());
      for (auto& [label, pair] : pairs_) carry(pair);
      COT_TRY(close_ended());
      COT_TRY(perform(machine_.advance(now())));
    }
    return {};
  }

  enum class Phase : uint8_t { asking, waiting, paired, dealing, matching };
  struct Connected {
    std::unique_ptr<CoordinatorConnection> connection;
    Phase phase = Phase::asking;
    ConnectionId pair = 0;                // the first party's connection, which names the pair, or the matching
    PartyIndex party = 0;                 // of a matching
    std::unique_ptr<DealtFrames> frames;  // of a dealing
  };
  // Two directions. `moves[i]` is from side i to the other one.
  struct Pair {
    std::array<ConnectionId, 2> ids;
    std::array<RelayPipe, 2> moves;
    std::array<bool, 2> takes_nothing{};  // this side
    bool is_over = false;
  };

  struct Matching {
    VerticalJobId job;
    std::vector<ConnectionId> ids;
    MatchingFrames frames;
  };

  static constexpr const char* kMatchingIsHeld = "a connection to a matcher names a matching that is held";
  static constexpr const char* kPairIsHeld = "a paired connection names a pair that is held";

  // The machine speaks only of connections whose end it was not told of, and those are held.
  Connected& connection_of(ConnectionId id) {
    return must_find(connections_, id, "the machine names connections that are held");
  }

  // poll() for all that can move. A direction whose buffer is full is not read: the sender's TCP holds it back.
  Status wait() {
    std::vector<pollfd> entries;
    entries.push_back({listener_.fd(), POLLIN, 0});
    for (const auto& [id, connected] : connections_) {
      short events = POLLIN;
      if (connected.phase == Phase::paired) {
        Pair& pair = must_find(pairs_, connected.pair, kPairIsHeld);
        const size_t side = pair.ids[0] == id ? 0 : 1;
        if (pair.moves[side].room().empty()) events = 0;
        if (!pair.takes_nothing[side] && !pair.moves[1 - side].waiting().empty()) events |= POLLOUT;
      }
      if (connected.phase == Phase::dealing && !connected.frames->is_over()) events |= POLLOUT;
      if (connected.phase == Phase::matching) {
        const MatchingFrames& frames = must_find(matchings_, connected.pair, kMatchingIsHeld).frames;
        if (!frames.may_say(connected.party)) events = 0;
        if (!frames.waiting(connected.party).empty()) events |= POLLOUT;
      }
      if (connected.connection->wants_out()) events |= POLLOUT;
      // With nothing to look for poll() would still tell of a hang-up, again and again.
      entries.push_back({events == 0 ? -1 : connected.connection->fd(), events, 0});
    }
    Millis time = kStopCheckEvery;
    if (const auto deadline = machine_.next_deadline()) {
      time = std::clamp(*deadline - os::monotonic_now(), Millis(0), kStopCheckEvery);
    }
    if (is_busy_) time = Millis(0);
    if (::poll(entries.data(), entries.size(), static_cast<int>(time.count())) < 0 && errno != EINTR) {
      return Error(ErrorCode::unavailable, std::string("coordinator: poll: ") + std::strerror(errno));
    }
    return {};
  }

  // A few at a time: whoever has come in can ask before those behind take its place.
  Status accept_all() {
    for (uint32_t count = 0; count < std::max(limits_.asking_max / 2, 1u); ++count) {
      const int fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) return {};  // nobody, or nobody that can be taken now
      auto connection = CoordinatorConnection::accept(context_.get(), fd);
      if (!connection) return {};
      const ConnectionId id = ++last_id_;
      connections_.emplace(id, Connected{.connection = std::move(connection)});
      COT_TRY(perform(machine_.opened(id, now())));
    }
    return {};
  }

  Status serve(ConnectionId id) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.phase == Phase::paired) return {};
    if (found->second.phase == Phase::dealing) return deal(id, found->second);
    if (found->second.phase == Phase::matching) return match(id, found->second);
    CoordinatorConnection& connection = *found->second.connection;
    if (found->second.phase == Phase::asking) {
      switch (connection.receive_request()) {
        case Progress::blocked: return {};
        case Progress::ended: break;
        case Progress::moved:
          found->second.phase = Phase::waiting;
          return perform(machine_.asked(id, connection.peer(), connection.request(), now()));
      }
    } else {
      std::array<uint8_t, 1> byte;
      size_t count = 0;
      switch (connection.read(byte, count)) {
        case Progress::blocked: return {};
        case Progress::ended: break;
        // Whoever waits has nothing to say yet: what comes now would be lost, or taken for words to the other party.
        case Progress::moved: return perform(machine_.spoke_early(id, now()));
      }
    }
    return lose(id);
  }

  // A piece of a dealing or two, and then the others have their turn.
  Status deal(ConnectionId id, Connected& connected) {
    std::array<uint8_t, 1> byte;
    size_t count = 0;
    switch (connected.connection->read(byte, count)) {
      case Progress::moved: return perform(machine_.spoke_early(id, now()));
      case Progress::ended: return lose(id);
      case Progress::blocked: break;
    }
    for (int piece = 0; piece < kPiecesMax; ++piece) {
      const ByteView waiting = connected.frames->waiting();
      if (waiting.empty()) return {};
      switch (connected.connection->write(waiting, count)) {
        case Progress::moved: connected.frames->sent(count); break;
        case Progress::ended: return lose(id);
        case Progress::blocked: return {};
      }
    }
    return {};
  }

  // Likewise: what a party says to its matcher, and what it hears.
  Status match(ConnectionId id, Connected& connected) {
    Matching& matching = must_find(matchings_, connected.pair, kMatchingIsHeld);
    std::array<uint8_t, kPieceBytes> bytes;
    for (int piece = 0; piece < kPiecesMax; ++piece) {
      bool moved = false;
      size_t count = 0;
      const bool may_say = matching.frames.may_say(connected.party);
      switch (may_say ? connected.connection->read(bytes, count) : Progress::blocked) {
        case Progress::moved:
          machine_.relayed(id, count, now());
          if (const Status status = matching.frames.take(connected.party, std::span(bytes).first(count)); !status) {
            return fail_matching(matching, status.error());
          }
          moved = true;
          break;
        case Progress::ended: return leave_matching(connected.pair, id);
        case Progress::blocked: break;
      }
      if (const ByteView waiting = matching.frames.waiting(connected.party); !waiting.empty()) {
        switch (connected.connection->write(waiting, count)) {
          case Progress::moved:
            matching.frames.sent(connected.party, count);
            moved = true;
            break;
          case Progress::ended: return leave_matching(connected.pair, id);
          case Progress::blocked: break;
        }
      }
      if (!moved) return {};
    }
    is_busy_ = true;
    return {};
  }

  Status fail_matching(const Matching& matching, const Error& error) {
    const bool is_named = is_job_reason(error.reason());
    return perform(
        machine_.matching_failed(matching.job, std::string(is_named ? error.reason() : error.name()), now()));
  }

  // A step of each matcher, and then the others have their turn: a bucket may have millions of tags.
  Status work_for_matchers() {
    std::vector<ConnectionId> names;
    // A copy: one that fails takes its connections along.
    for (const auto& [name, matching] : matchings_) {
      if (matching.frames.has_work()) names.push_back(name);
    }
    for (const ConnectionId name : names) {
      Matching& matching = must_find(matchings_, name, kMatchingIsHeld);
      if (const Status status = matching.frames.work(); !status) COT_TRY(fail_matching(matching, status.error()));
      is_busy_ = true;
    }
    return {};
  }

  // Whoever has all that it asked for goes by itself; who goes before leaves the others without their matches.
  Status leave_matching(ConnectionId name, ConnectionId id) {
    const auto found = matchings_.find(name);
    std::vector<ConnectionId> gone{id};
    if (!found->second.frames.is_over()) gone = found->second.ids;
    for (const ConnectionId one : gone) forget_matched(one);
    for (const ConnectionId one : gone) COT_TRY(perform(machine_.closed(one, now())));
    return {};
  }

  // The connection, and with the last one the matching.
  void forget_matched(ConnectionId id) {
    const ConnectionId name = connection_of(id).pair;
    connections_.erase(id);
    const auto found = matchings_.find(name);
    std::erase(found->second.ids, id);
    if (found->second.ids.empty()) matchings_.erase(found);
  }

  Status lose(ConnectionId id) {
    connections_.erase(id);
    return perform(machine_.closed(id, now()));
  }

  // As much as moves at once, and no more than a fair share.
  void carry(Pair& pair) {
    for (int round = 0; round < kRoundsMax; ++round) {
      const bool moved = carry_side(pair, 0), moved_back = carry_side(pair, 1);
      if (!moved && !moved_back) return;
    }
    is_busy_ = true;
  }

  bool carry_side(Pair& pair, size_t side) {
    RelayPipe& pipe = pair.moves[side];
    bool moved = false;
    size_t count = 0;
    if (const std::span<uint8_t> room = pipe.room(); !room.empty()) {
      switch (connection_of(pair.ids[side]).connection->read(room, count)) {
        case Progress::moved:
          pipe.filled(count);
          machine_.relayed(pair.ids[side], count, now());
          moved = true;
          break;
        case Progress::ended: pipe.end(); break;
        case Progress::blocked: break;
      }
    }
    if (!pair.takes_nothing[1 - side] && !pipe.waiting().empty()) {
      switch (connection_of(pair.ids[1 - side]).connection->write(pipe.waiting(), count)) {
        case Progress::moved:
          pipe.sent(count);
          moved = true;
          break;
        case Progress::ended:
          // What it sent before it went still has to be read.
          pair.takes_nothing[1 - side] = true;
          pipe.discard();
          break;
        case Progress::blocked: break;
      }
    }
    // Once one side has ended and all of its bytes are through, there is nobody to talk to.
    if (pipe.is_drained()) pair.is_over = true;
    return moved && !pair.is_over;
  }

  Status close_ended() {
    for (auto entry = pairs_.begin(); entry != pairs_.end();) {
      if (!entry->second.is_over) {
        ++entry;
        continue;
      }
      const std::array<ConnectionId, 2> ids = entry->second.ids;
      entry = pairs_.erase(entry);
      for (const ConnectionId id : ids) {
        connections_.erase(id);
        COT_TRY(perform(machine_.closed(id, now())));
      }
    }
    return {};
  }

  Status perform(const CoordinatorEffects& effects) {
    // Stored before anybody hears of it: what a party was told is still so after a crash.
    for (const VerticalJobId& job : effects.remove) COT_TRY(store_.remove(job));
    for (const JobRecord& record : effects.store) COT_TRY(store_.put(record));
    std::vector<ConnectionId> lost;
    for (const CoordinatorEffects::Answer& answer : effects.answers) {
      const auto found = connections_.find(answer.to);
      if (found == connections_.end()) continue;
      const bool written = found->second.connection->write_whole(answer.bytes);
      if (answer.is_last) {
        connections_.erase(found);
      } else if (!written) {
        lost.push_back(answer.to);
      }
    }
    for (const CoordinatorEffects::Pair& two : effects.pairs) {
      for (const ConnectionId id : {two.first, two.second}) {
        Connected& connected = connection_of(id);
        connected.phase = Phase::paired;
        connected.pair = two.first;
      }
      pairs_.emplace(two.first, Pair{.ids = {two.first, two.second},
                                     .moves = {RelayPipe(limits_.buffer_bytes), RelayPipe(limits_.buffer_bytes)}});
      // One of the two could not be told: the other would wait for its words for ever.
      if (!lost.empty()) must_find(pairs_, two.first, kPairIsHeld).is_over = true;
    }
    for (const CoordinatorEffects::Matching& all : effects.matchings) {
      const ConnectionId name = all.parties[0];
      for (PartyIndex party = 0; party < all.parties.size(); ++party) {
        Connected& connected = connection_of(all.parties[party]);
        connected.phase = Phase::matching;
        connected.pair = name;
        connected.party = party;
      }
      matchings_.emplace(name, Matching{.job = all.job,
                                        .ids = all.parties,
                                        .frames = MatchingFrames(static_cast<uint32_t>(all.parties.size()),
                                                                 limits_.matching_entries_max)});
    }
    std::vector<VerticalJobId> undealt;
    for (const CoordinatorEffects::Deal& two : effects.deals) {
      const Result<Secret<32>> stored = store_.dealing_secret(two.job);
      // A full disk ends everything, as where a record cannot be stored. A file that is damaged is one job's.
      if (!stored && stored.error().code() == ErrorCode::storage_full) return stored.error();
      if (!stored) {
        undealt.push_back(two.job);
        continue;
      }
      const Secret<32>& secret = *stored;
      for (const auto& [id, party] : {std::pair(two.label, PartyIndex{0}), {two.feature, PartyIndex{1}}}) {
        COT_ASSIGN(DealtFrames::AnyDealing dealing, make_dealing(two, party, secret));
        Connected& connected = connection_of(id);
        connected.phase = Phase::dealing;
        connected.frames = std::make_unique<DealtFrames>(std::move(dealing));
      }
    }
    // Behind the answers: a connection may be answered and closed at once.
    for (const ConnectionId id : effects.closes) {
      const auto found = connections_.find(id);
      if (found == connections_.end()) continue;
      if (found->second.phase == Phase::paired) pairs_.erase(found->second.pair);
      if (found->second.phase == Phase::matching) {
        forget_matched(id);
      } else {
        connections_.erase(found);
      }
    }
    // At the end: what the machine does about it may close what was looked at above.
    for (const VerticalJobId& job : undealt) COT_TRY(perform(machine_.dealer_lost(job, now())));
    return {};
  }

  PartyListener listener_;
  TlsContext context_;
  CoordinatorLimits limits_;
  CoordinatorMachine machine_;
  JobStore& store_;
  ConnectionId last_id_ = 0;
  std::map<ConnectionId, Connected> connections_;
  std::map<ConnectionId, Pair> pairs_;          // by the first party's connection
  std::map<ConnectionId, Matching> matchings_;  // likewise
  bool is_busy_ = false;
};

}  // namespace

Result<std::unique_ptr<CoordinatorServer>> CoordinatorServer::open(const CoordinatorAddress& address,
                                                                   const TlsIdentity& identity,
                                                                   const CoordinatorLimits& limits,
                                                                   CoordinatorMachine machine, JobStore& store) {
  COT_TRY(check_limits(limits));
  COT_ASSIGN(TlsContext context, make_tls_context(TLS_server_method(), identity));
  COT_ASSIGN(PartyListener listener, PartyListener::open(address.host, address.port));
  auto server = std::make_unique<Server>(std::move(listener), std::move(context), limits, std::move(machine), store);
  COT_TRY(server->begin());
  return std::unique_ptr<CoordinatorServer>(std::move(server));
}

}  // namespace coterie::vertical

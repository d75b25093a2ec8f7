#include "vertical/resume/run_position.h"

#include <algorithm>
#include <string>

namespace coterie::vertical {
namespace {

constexpr uint16_t kPositionKind = 2, kFarewellKind = 1;
constexpr size_t kDigestBytes = 32;
constexpr size_t kUnitBytes = 4 + kDigestBytes;
constexpr size_t kPositionBytes = 2 * kDigestBytes + 4;  // the flags and the number of units are a byte each

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "resume: " + what); }

Error differs(const std::string& what) {
  return Error(ErrorCode::data_loss, "resume: the parties have " + what + " that are not the same");
}

void append(Bytes& to, const Digest& digest) { to.insert(to.end(), digest.bytes.begin(), digest.bytes.end()); }

Digest digest_at(ByteView bytes, size_t at) {
  Digest digest;
  std::ranges::copy(bytes.subspan(at, kDigestBytes), digest.bytes.begin());
  return digest;
}

Bytes write_position(const RunPosition& position) {
  Bytes bytes;
  append(bytes, position.journal);
  append(bytes, position.matched.value_or(Digest()));
  bytes.push_back(position.matched ? 1 : 0);
  bytes.push_back(position.is_trained ? 1 : 0);
  bytes.push_back(position.is_predicted ? 1 : 0);
  bytes.push_back(static_cast<uint8_t>(position.units.size()));
  for (const CommittedUnit& unit : position.units) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(unit.unit >> shift));
    append(bytes, unit.state);
  }
  return bytes;
}

Result<RunPosition> read_position(ByteView bytes) {
  const Error wrong = malformed("a position that does not decode came");
  if (bytes.size() < kPositionBytes) return wrong;
  const ByteView flags = bytes.subspan(2 * kDigestBytes, 4);
  if (flags[0] > 1 || flags[1] > 1 || flags[2] > 1 || flags[3] > kCommittedUnitsMax ||
      bytes.size() != kPositionBytes + flags[3] * kUnitBytes) {
    return wrong;
  }
  RunPosition position{.journal = digest_at(bytes, 0)};
  if (flags[0] == 1) position.matched = digest_at(bytes, kDigestBytes);
  position.is_trained = flags[1] == 1;
  position.is_predicted = flags[2] == 1;
  for (size_t i = 0; i < flags[3]; ++i) {
    const size_t at = kPositionBytes + i * kUnitBytes;
    CommittedUnit unit;
    for (size_t byte = 0; byte < 4; ++byte) unit.unit |= uint32_t{bytes[at + byte]} << (8 * byte);
    unit.state = digest_at(bytes, at + 4);
    if (unit.unit == 0 || (i > 0 && unit.unit <= position.units.back().unit)) return wrong;
    position.units.push_back(unit);
  }
  return position;
}

}  // namespace

Result<RunStart> common_start(const RunPosition& own, const RunPosition& peers,
                              const std::optional<Digest>& peer_journal) {
  if (peer_journal && *peer_journal != peers.journal) {
    return Error(ErrorCode::refused,
                 "resume: the other party has lost what it kept of this job and begins anew; submit another job",
                 "journal_differs");
  }
  RunStart start;
  if (own.matched && peers.matched) {
    if (*own.matched != *peers.matched) return differs("matchings");
    start.is_matched = true;
  }
  // What comes later was done on the same matching.
  if (!start.is_matched) return start;
  for (const CommittedUnit& unit : own.units) {
    const auto same = std::ranges::find(peers.units, unit.unit, &CommittedUnit::unit);
    if (same == peers.units.end()) continue;
    if (same->state != unit.state) return differs("trainings up to step " + std::to_string(unit.unit));
    start.unit = unit.unit;
  }
  start.is_trained = own.is_trained && peers.is_trained;
  start.is_predicted = start.is_trained && own.is_predicted && peers.is_predicted;
  return start;
}

PositionExchange::PositionExchange(const RunPosition& own, PartyIndex peer) : own_(own), peer_(peer) {
  COT_ASSERT(own.units.size() <= kCommittedUnitsMax);
}

std::optional<Message> PositionExchange::next() {
  if (is_said_) return std::nullopt;
  is_said_ = true;
  return Message{.peer = peer_, .kind = kPositionKind, .payload = write_position(own_)};
}

Status PositionExchange::receive(const Message& message) {
  if (message.kind != kPositionKind || peers_) return malformed("something else than the peer's position came");
  COT_ASSIGN(peers_, read_position(message.payload));
  return {};
}

std::optional<Message> Farewell::next() {
  if (is_said_) return std::nullopt;
  is_said_ = true;
  return Message{.peer = peer_, .kind = kFarewellKind, .payload = {}};
}

Status Farewell::receive(const Message& message) {
  if (message.kind != kFarewellKind || !message.payload.empty() || is_heard_) {
    return malformed("something else than a farewell came");
  }
  is_heard_ = true;
  return {};
}

}  // namespace coterie::vertical

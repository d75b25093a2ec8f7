#include "vertical/resume/run_position.h"

#include <algorithm>
#include <string>
#include <utility>

#include "vertical/stage/wire.h"

namespace coterie::vertical {
namespace {

constexpr uint16_t kPositionKind = 2, kFarewellKind = 1;

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "resume: " + what); }

// A party makes a point durable before it says what its peer needs for the next one.
bool is_too_far_back(const RunPosition& position, const RunStart& start) {
  const auto is_behind = [](uint32_t unit, const std::vector<CommittedUnit>& kept) {
    return kept.size() == kCommittedUnitsMax && unit < kept[0].unit;
  };
  if (start.is_trained) return false;
  if (start.is_matched) return is_behind(start.unit, position.units);
  return !position.units.empty() || is_behind(start.buckets, position.buckets);
}

Error differs(const std::string& what) {
  return Error(ErrorCode::data_loss, "resume: the parties have " + what + " that are not the same");
}

void write_units(WireWriter& writer, const std::vector<CommittedUnit>& units) {
  writer.u8(static_cast<uint8_t>(units.size()));
  for (const CommittedUnit& unit : units) {
    writer.u32(unit.unit);
    writer.digest(unit.state);
  }
}

std::optional<std::vector<CommittedUnit>> read_units(WireReader& reader) {
  std::vector<CommittedUnit> units;
  const uint8_t count = reader.u8();
  if (!reader.ok() || count > kCommittedUnitsMax) return std::nullopt;
  for (uint8_t i = 0; i < count; ++i) {
    const CommittedUnit unit{.unit = reader.u32(), .state = reader.digest()};
    if (unit.unit == 0 || (i > 0 && unit.unit <= units.back().unit)) return std::nullopt;
    units.push_back(unit);
  }
  return units;
}

// The newest unit that both have, or 0: each keeps its last few, as one may have died before its write of the newest.
Result<uint32_t> newest_of_both(const std::vector<CommittedUnit>& own, const std::vector<CommittedUnit>& peers,
                                const std::string& what) {
  uint32_t newest = 0;
  for (const CommittedUnit& unit : own) {
    const auto same = std::ranges::find(peers, unit.unit, &CommittedUnit::unit);
    if (same == peers.end()) continue;
    // Equal numbers with other states would go on into two results that belong to no run.
    if (same->state != unit.state) return differs(what + " " + std::to_string(unit.unit));
    newest = unit.unit;
  }
  return newest;
}

Bytes write_position(const RunPosition& position) {
  WireWriter writer;
  writer.digest(position.journal);
  writer.digest(position.matched.value_or(Digest()));
  for (const bool flag : {position.matched.has_value(), position.is_trained, position.is_predicted}) {
    writer.u8(flag ? 1 : 0);
  }
  write_units(writer, position.units);
  write_units(writer, position.buckets);
  return writer.take();
}

Result<RunPosition> read_position(ByteView bytes) {
  const Error wrong = malformed("a position that does not decode came");
  WireReader reader(bytes);
  RunPosition position{.journal = reader.digest()};
  const Digest matched = reader.digest();
  const uint8_t is_matched = reader.u8(), is_trained = reader.u8(), is_predicted = reader.u8();
  if (!reader.ok() || is_matched > 1 || is_trained > 1 || is_predicted > 1) return wrong;
  auto units = read_units(reader), buckets = read_units(reader);
  // A training comes behind a matching.
  if (!reader.ended() || !units || !buckets || (!units->empty() && is_matched == 0)) return wrong;
  if (is_matched == 1) position.matched = matched;
  position.is_trained = is_trained == 1;
  position.is_predicted = is_predicted == 1;
  position.units = std::move(*units);
  position.buckets = std::move(*buckets);
  return position;
}

}  // namespace

Result<RunStart> common_start(const RunPosition& own, const RunPosition& peers,
                              const std::optional<Digest>& peer_journal) {
  // A journal has a name that is drawn when it is made. Another name means that the peer's disk was lost or restored,
  // and what it repeats would be a second answer to what this party has said.
  if (peer_journal && *peer_journal != peers.journal) {
    return Error(ErrorCode::refused,
                 "resume: the other party has lost what it kept of this job and begins anew; submit another job",
                 "journal_differs");
  }
  RunStart start;
  if (own.matched && peers.matched) {
    if (*own.matched != *peers.matched) return differs("matchings");
    start.is_matched = true;
    // What comes later was done on the same matching.
    COT_ASSIGN(start.unit, newest_of_both(own.units, peers.units, "trainings up to step"));
  } else {
    COT_ASSIGN(start.buckets, newest_of_both(own.buckets, peers.buckets, "matchings up to bucket"));
  }
  start.is_trained = start.is_matched && own.is_trained && peers.is_trained;
  start.is_predicted = start.is_trained && own.is_predicted && peers.is_predicted;
  if (is_too_far_back(own, start) || is_too_far_back(peers, start)) {
    return Error(
        ErrorCode::refused,
        "resume: one party has less of the training than it had when the other one went on; submit another job",
        "journal_differs");
  }
  return start;
}

Result<RunPosition> common_position(std::span<const RunPosition> positions, const Digest& journal) {
  COT_ASSERT(!positions.empty());
  RunPosition common = positions[0];
  common.journal = journal;
  if (positions.size() > 1) common.buckets.clear();  // a ring's matching goes on behind none
  for (const RunPosition& position : positions.subspan(1)) {
    if (common.matched && position.matched && *common.matched != *position.matched) return differs("matchings");
    if (!position.matched) common.matched.reset();
    std::vector<CommittedUnit> units;
    for (const CommittedUnit& unit : common.units) {
      const auto same = std::ranges::find(position.units, unit.unit, &CommittedUnit::unit);
      if (same == position.units.end()) continue;
      if (same->state != unit.state) return differs("trainings up to step " + std::to_string(unit.unit));
      units.push_back(unit);
    }
    common.units = std::move(units);
    common.is_trained = common.is_trained && position.is_trained;
    common.is_predicted = common.is_predicted && position.is_predicted;
  }
  return common;
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

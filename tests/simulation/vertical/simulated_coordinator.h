// SimulatedCoordinator: the shipped machine of a coordinator and its shipped folder of jobs behind a shell like
// coordinator_server.cc's, on simulated connections. It may be killed between any two of its effects.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tests/simulation/vertical/connection.h"
#include "tests/simulation/vertical/surroundings.h"
#include "tools/vertical/job_folder.h"
#include "vertical/coordinator/coordinator_machine.h"
#include "vertical/coordinator/matching_frames.h"

namespace coterie::simulation {

class VerticalWorld;
class SimulatedProcess;

class SimulatedCoordinator final : public Surroundings {
 public:
  SimulatedCoordinator(VerticalWorld& world, std::string folder);

  void start();  // reads what it has stored
  void kill();   // all connections end
  bool is_up() const { return machine_ != nullptr; }
  // Null if it is down. `from`: whose certificate is shown.
  std::shared_ptr<Connection> take(const SimulatedProcess& from, std::shared_ptr<Connection> connection);
  // The connections of the job's pairs, and of its matcher.
  std::vector<std::shared_ptr<Connection>> links_of(size_t job) const;

  // ---- Surroundings of its folder of jobs
  Result<std::unique_ptr<vertical::ByteStream>> dial(const vertical::LinkPatience&) override;
  Instant now() override;
  Status wait(Millis) override { return {}; }
  void draw(std::span<uint8_t> bytes) override;
  bool begin_file(const std::string&, ByteView) override;
  void end_file() override;
  std::optional<size_t> appended(const std::string&, size_t bytes) override { return bytes; }
  [[noreturn]] void die() override;

 private:
  using Id = vertical::ConnectionId;
  // refused: for want of an approval, and kept (a mutant).
  enum class Phase : uint8_t { asking, waiting, refused, paired, dealing, matching };
  struct Held {
    std::shared_ptr<Connection> connection;
    vertical::PeerIdentity identity;
    size_t job = 0;
    vertical::PartyIndex party = 0;  // of `job`, if it is a party's
    Phase phase = Phase::asking;
    Bytes asked;
    std::optional<vertical::VerticalJobId> joins;  // it asked to be paired for this job
    Id other = 0;                                  // of a pair; of a matching the first party's
  };
  struct Matching {
    vertical::VerticalJobId job;
    std::vector<Id> ids;
    vertical::MatchingFrames frames;
  };

  // Runs what may kill it.
  template <typename Step>
  void guarded(Step step);
  void effect();
  void heard(Id id, ByteView bytes);
  void ended(Id id);
  void ask(Id id, Held& held);
  void carry(Id id, Held& held, ByteView bytes);
  void match(Id id, const Held& held, ByteView bytes);
  Status tell_matcher(Matching& matching, vertical::PartyIndex from, ByteView bytes);
  void leave_matching(Id name, Id id);
  void forget_matched(Id id);
  void begin_matching(const vertical::CoordinatorEffects::Matching& all);
  void perform(const vertical::CoordinatorEffects& effects);
  void store(const vertical::CoordinatorEffects& effects);
  void answer(const vertical::CoordinatorEffects& effects);
  void deal(vertical::CoordinatorEffects::Deal deal);
  void join_pair(Id first, Id second);
  // A mutant: keeps who was refused, and pairs both when both were. Whether it is kept.
  bool pairs_unapproved(const vertical::CoordinatorEffects::Answer& answer);
  void drop(Id id);
  void set_alarm();
  Now when() const;

  VerticalWorld& world_;
  JobFolder folder_;
  std::unique_ptr<vertical::CoordinatorMachine> machine_;
  std::map<Id, Held> held_;
  std::map<Id, Matching> matchings_;  // by the first party's connection
  Id last_id_ = 0;
  uint64_t life_ = 0, effects_ = 0, effects_until_killed_ = 0;
  Instant alarm_ = Instant::max();
  size_t dealt_job_ = 0;
  const vertical::JobRecord* storing_ = nullptr;  // until it is durable
  // What mutants keep.
  std::optional<Id> refused_;
  std::map<vertical::VerticalJobId, vertical::MatchingFrames> kept_;
  std::map<size_t, Bytes> samples_;
};

}  // namespace coterie::simulation

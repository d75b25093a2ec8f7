// SimulatedProcess: one life of a party's program, or of a person's command, with surroundings that may kill it between
// any two of its effects: what it says, hears and writes.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "tests/simulation/vertical/actor.h"
#include "tests/simulation/vertical/connection.h"
#include "tests/simulation/vertical/surroundings.h"
#include "vertical/coordinator/coordinator_machine.h"

namespace coterie::simulation {

class VerticalWorld;

struct ProcessTerms {
  vertical::PeerIdentity identity;  // of its certificate
  size_t job = 0;
  std::optional<vertical::PartyIndex> party;  // none: a person's command
  uint64_t effects_until_killed = 0;          // 0: it is not
};

class SimulatedProcess final : public Surroundings {
 public:
  // Begins at once, and says when it has ended.
  SimulatedProcess(VerticalWorld& world, ProcessTerms terms, std::function<void()> body, std::function<void()> ended);

  const ProcessTerms& terms() const { return terms_; }
  bool has_ended() const { return actor_.has_ended(); }
  bool is_killed() const { return actor_.is_killed(); }
  void begin() { go_on(); }
  void kill();

  // ---- Surroundings
  Result<std::unique_ptr<vertical::ByteStream>> dial(const vertical::LinkPatience& patience) override;
  Instant now() override;
  Status wait(Millis time) override;
  void draw(std::span<uint8_t> bytes) override;
  bool begin_file(const std::string& path, ByteView bytes) override;
  void end_file() override { effect(); }
  std::optional<size_t> appended(const std::string& path, size_t bytes) override;
  [[noreturn]] void die() override { actor_.die(); }

  // ---- For its connections
  void effect();  // may be its last
  // Blocks until `wake()` (true) or until the time is over (false).
  bool rest(Millis time);
  void wake();

 private:
  void go_on();

  VerticalWorld& world_;
  ProcessTerms terms_;
  std::function<void()> ended_;
  uint64_t effects_ = 0, rests_ = 0;
  bool is_asleep_ = false, is_woken_ = false;
  Actor actor_;
};

}  // namespace coterie::simulation

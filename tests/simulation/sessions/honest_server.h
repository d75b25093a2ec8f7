// HonestServer: the coordinator's shell around the real cohort machine, on virtual time: it adds up masked updates,
// freezes the round, takes the masks off, and asks the oracle.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tests/simulation/sessions/server_port.h"
#include "tests/simulation/sessions/session_world.h"

namespace coterie::simulation {

class HonestServer final : public ServerPort {
 public:
  explicit HonestServer(SessionWorld& world);

  void start() override;
  Digest context_for(uint32_t who) const override;
  void tell(uint32_t who, const DeviceMessage& message, Reply reply) override;
  void ask(uint32_t who, CohortQuestion question, Reply reply) override;
  bool is_over() const override { return is_over_; }

 private:
  void upload(uint32_t who, const MaskedUpdate& update, const Reply& reply);
  Status check(const MaskedUpdate& update) const;
  void accept(uint32_t who, const MaskedUpdate& update, const Reply& reply);
  void add(const MaskedUpdate& update);
  void freeze();
  // Whatever the cohort has come to.
  void after();
  void arm();
  void open();
  Result<std::vector<uint64_t>> unmask();
  void end(const Error& error);

  SessionWorld& world_;
  std::optional<CohortMachine> cohort_;
  std::vector<uint64_t> sum_;  // durable, as are those who are in it
  std::map<uint32_t, MaskedInput> accepted_;
  bool is_frozen_ = false, is_over_ = false;
  std::optional<Instant> armed_;
};

}  // namespace coterie::simulation

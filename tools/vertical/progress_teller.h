// ProgressTeller: a party tells its coordinator how far it has come in a stage: units and bytes, nothing of its data.
//
// It is for people who look, so that nothing depends on it: a coordinator that does not hear is not told again in this
// run, and the run goes on. Within a stage it is told every few seconds at most.
#pragma once

#include <optional>

#include "base/time.h"
#include "tools/vertical/party_config.h"
#include "vertical/coordinator/coordinator_wire.h"

namespace coterie {

class ProgressTeller {
 public:
  // `config` outlives it. Without a coordinator nobody is told.
  ProgressTeller(const PartyConfig& config, const vertical::VerticalJobId& job) : config_(config), job_(job) {}

  // `units` of `units_all` were done before; 0 of 0: of this stage none are counted.
  void begin(vertical::JobStage stage, uint32_t units, uint32_t units_all);
  // So many units of the stage that was begun are done now, and so many bytes were sent in it.
  // `units_all`: a matching knows them behind its peer's first word.
  void advance(uint32_t units, uint32_t units_all, uint64_t sent_bytes);
  void end(uint64_t sent_bytes);

 private:
  void tell();

  const PartyConfig& config_;
  const vertical::VerticalJobId job_;
  vertical::StageProgress progress_;
  Instant told_;
  bool is_heard_ = true;
};

}  // namespace coterie

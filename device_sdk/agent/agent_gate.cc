// What the device has met last, in a file of its own.
#include "base/os/file.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/client/gate_met.h"
#include "device_sdk/client/met_gate.h"

namespace coterie {

// For people: whoever loses it knows less, and nothing else. A step that is tried again writes nothing.
Status Agent::keep_gate(const ParticipantEvent& event, const RoundKey& before) {
  std::optional<MetGate> met = gate_met(event, before, machine_.state(), machine_.last_error(), api_.server_now());
  if (!met || (gate_ && gate_->is_same(*met))) return {};
  COT_TRY(os::write_file_atomically(path(kGateFile), as_bytes(to_text(*met)), os::Durability::process));
  gate_ = std::make_unique<MetGate>(*std::move(met));
  return {};
}

}  // namespace coterie

// What the device has met last, in a file of its own.
#include "base/os/file.h"
#include "device_sdk/agent/agent.h"
#include "device_sdk/client/gate_met.h"
#include "device_sdk/client/met_gate.h"

namespace coterie {

// For people: whoever loses it knows less, and nothing else. So a disk without room for it keeps no device from its
// round. A step that is tried again writes nothing.
void Agent::keep_gate(const ParticipantEvent& event, const RoundKey& before) {
  std::optional<MetGate> met = gate_met(event, before, machine_.state(), machine_.last_error(), api_.server_now());
  if (!met || (gate_ && gate_->is_same(*met))) return;
  if (!os::write_file_atomically(path(kGateFile), as_bytes(to_text(*met)), os::Durability::process)) return;
  gate_ = std::make_unique<MetGate>(*std::move(met));
}

}  // namespace coterie

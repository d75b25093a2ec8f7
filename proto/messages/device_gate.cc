#include "proto/messages/device_gate.h"

#include <array>

namespace coterie {
namespace {

struct Words {
  std::string_view name, sentence, meaning;
};

constexpr std::array<Words, kDeviceGates> kWords = {{
    {"waiting", "", "wait: a ticket may come back"},
    {"not_drawn", "not_drawn: no round needs this device now", "waited, and others were drawn"},
    {"no_place", "no_place: no round needs this device now", "came when there was no ticket left"},
    {"resting", "resting: no round needs this device now", "were counted too short a time ago"},
    {"unsupported", "unsupported: the round that collects asks for what this device's version does not know",
     "do not know what the plan asks for: update apps"},
    {"other_round", "", "are in another round of their population"},
    {"desk_full", "desk_full: the server holds as many devices as it can",
     "came when the server held as many as it can"},
    {"gone", "", "left before there was an answer"},
    {"stopping", "stopping: this server is about to stop", "came as the server was about to stop"},
    {"unremembered", "", "came behind those whom a server remembers"},
    {"no_round", "no_round: no round needs this device now", "came when no round collected"},
    {"replaced", "replaced: by a newer check-in of the same device", "checked in anew"},
    {"not_enrolled", "", "have no identity at a server yet"},
    {"held", "", "are held back by their state or a day's budget"},
    {"failed", "", "could not take a step"},
    {"ticket", "", "have a ticket, and were not heard of since"},
    {"ticket_again", "", "have the ticket that they had"},
    {"joined", "", "have a ticket for an update of before"},
    {"downloaded", "", "have plan or model; no update came"},
    {"plan_refused", "", "refused the plan"},
    {"uploading", "", "have trained; their update is on its way"},
    {"update_refused", "", "sent an update that was not taken"},
    {"late", "", "sent an update when the round took no more"},
    {"counted", "", "are counted"},
}};

const Words& words_of(DeviceGate gate) { return kWords[static_cast<size_t>(gate)]; }

}  // namespace

std::string_view to_string(DeviceGate gate) { return words_of(gate).name; }
std::string_view sentence_of(DeviceGate gate) { return words_of(gate).sentence; }
std::string_view meaning_of(DeviceGate gate) { return words_of(gate).meaning; }

std::optional<DeviceGate> device_gate_from(std::string_view name) {
  for (size_t i = 0; i < kDeviceGates; ++i) {
    if (kWords[i].name == name) return static_cast<DeviceGate>(i);
  }
  return std::nullopt;
}

}  // namespace coterie

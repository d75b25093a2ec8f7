#include "tools/demo/fleet.h"

#include <algorithm>
#include <charconv>
#include <csignal>

#include "base/os/file.h"
#include "proto/messages/width_share.h"
#include "secure/identity/key_file.h"
#include "tools/cli/interrupt.h"
#include "tools/demo/options.h"
#include "tools/demo/width_option.h"

namespace coterie {
namespace {

constexpr uint64_t kLogBytesMax = 64 << 20;
constexpr uint32_t kRestartsMaxPerDevice = 5;  // on average

}  // namespace

Result<Child> Fleet::start_device(uint32_t device) const {
  const std::string dir = folder_.device_dir(device);
  std::vector<std::string> command = {settings_.program,
                                      "device",
                                      "run",
                                      "--server",
                                      settings_.server_url,
                                      "--ca",
                                      settings_.ca_file,
                                      "--state-dir",
                                      dir + "/state",
                                      "--data",
                                      dir + "/data.cotf",
                                      "--seed",
                                      std::to_string(device_seed(settings_.seed, device))};
  command.insert(command.end(), settings_.policy.begin(), settings_.policy.end());
  if (settings_.groups > 0) {
    command.insert(command.end(), {"--group", std::to_string((device - 1) % settings_.groups + 1)});
  }
  if (!settings_.widths.empty()) {
    const uint32_t width = settings_.widths[width_class_of(device - 1, settings_.widths.size())];
    command.insert(command.end(), {"--width-max", std::to_string(share_of(width))});
  }
  if (device <= settings_.liars) command.insert(command.end(), {"--lie", settings_.lie});
  return Child::start({.name = "device " + std::to_string(device),
                       .command = std::move(command),
                       // Not an argument: everybody on the machine can read those.
                       .environment = {"COTERIE_ENROLLMENT_TOKEN=" + settings_.token},
                       .log_file = log_file(device)});
}

Status Fleet::give_key(uint32_t device) const {
  const std::string state = folder_.device_dir(device) + "/state";
  COT_TRY(os::make_directories(state));
  Bytes key = device_key(settings_.seed, device);
  const Result<std::unique_ptr<Signer>> kept = create_signer(state + "/identity.key", KeyAlgorithm::ed25519, key);
  return kept ? Status() : Status(kept.error());
}

Status Fleet::start() {
  for (uint32_t device = 1; device <= settings_.devices; ++device) {
    if (Interrupt::requested()) return interrupted_error();
    COT_TRY(give_key(device));
    COT_ASSIGN(Child child, start_device(device));
    devices_.push_back(std::move(child));
  }
  return {};
}

Result<std::vector<std::string>> Fleet::look_after() {
  std::vector<std::string> notes;
  for (uint32_t device = 1; device <= devices_.size(); ++device) {
    Child& child = devices_[device - 1];
    if (!child.has_ended()) continue;
    const bool from_outside = child.succeeded() || child.was_killed_by(SIGKILL) || child.was_killed_by(SIGTERM);
    if (!from_outside || restarts_ >= kRestartsMaxPerDevice * settings_.devices) {
      return Error(ErrorCode::unavailable, child.obituary());
    }
    ++restarts_;
    notes.push_back(child.name() + " was stopped from outside; started again, it goes on where it was");
    COT_ASSIGN(child, start_device(device));
  }
  return notes;
}

void Fleet::drop_out(Instant now) {
  const Absences::Moves moves = absences_.step(now);
  for (const uint32_t device : moves.come_back) {
    away_.erase(device);
    devices_[device].signal(SIGCONT);
  }
  for (const uint32_t device : moves.leave) {
    away_.insert(device);
    ++dropouts_;
    devices_[device].signal(SIGSTOP);
  }
}

void Fleet::stop(Millis grace) {
  for (const uint32_t device : away_) devices_[device].signal(SIGCONT);  // or it would not hear
  std::vector<Child*> children;
  for (Child& child : devices_) children.push_back(&child);
  stop_children(children, grace);
}

std::vector<uint32_t> Fleet::rounds_trained() const {
  std::vector<uint32_t> rounds;
  for (uint32_t device = 1; device <= settings_.devices; ++device) {
    const Result<Bytes> log = os::read_file(log_file(device), kLogBytesMax);
    rounds.push_back(log ? rounds_in_log(as_text(*log)) : 0);
  }
  return rounds;
}

uint32_t rounds_in_log(std::string_view log) {
  constexpr std::string_view kKey = "\"rounds_done\":";
  uint32_t most = 0;
  for (size_t at = log.find(kKey); at != log.npos; at = log.find(kKey, at)) {
    at += kKey.size();
    uint32_t rounds = 0;
    std::from_chars(log.data() + at, log.data() + log.size(), rounds);
    most = std::max(most, rounds);
  }
  return most;
}

}  // namespace coterie

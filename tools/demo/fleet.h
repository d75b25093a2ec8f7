// Fleet: the devices of a demo, one process each, with a folder each: its data, its state, its log.
//
// A device that is killed (kill -9, or asked to end by somebody else) is started again on its state directory, as a phone
// starts an app again that it had killed; it goes on where it was. A device that fails by itself ends the demo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "tools/demo/child_process.h"
#include "tools/demo/run_folder.h"

namespace coterie {

struct FleetSettings {
  std::string program;     // coterie itself
  std::string server_url;
  std::string ca_file;
  std::string token;       // good for every device
  uint64_t seed = 1;
  uint32_t devices = 1;
  double dropout = 0;      // probability that a device vanishes in a round
};

class Fleet {
 public:
  // `folder` outlives the fleet.
  Fleet(FleetSettings settings, const RunFolder& folder)
      : settings_(std::move(settings)), folder_(folder), prng_(settings_.seed) {}

  // Device i (from 1) finds its examples in device_dir(i)/data.cotf.
  Status start();
  // Starts again what was killed, and returns a sentence for each. Errors: a device that failed, or is killed again and
  // again: its last words, and where its log is.
  Result<std::vector<std::string>> look_after();
  void stop(Millis grace);

  // A round of about this length begins: some devices will vanish in it, as one does whose app the phone puts to sleep.
  void begin_round(Instant now, Millis length);
  // Puts to sleep and wakes those whose time has come.
  void drop_out(Instant now);
  uint32_t dropouts() const { return dropouts_; }

  uint32_t restarts() const { return restarts_; }
  // In how many rounds each device trained, as far as its log tells.
  std::vector<uint32_t> rounds_trained() const;

 private:
  struct Absence {
    uint32_t device = 0;
    Instant from, until;
    bool is_away = false;
  };

  Result<Child> start_device(uint32_t device) const;
  std::string log_file(uint32_t device) const { return folder_.log_file("device-" + device_label(device)); }

  FleetSettings settings_;
  const RunFolder& folder_;
  std::vector<Child> devices_;
  uint32_t restarts_ = 0;
  Prng prng_;
  std::vector<Absence> absences_;
  uint32_t dropouts_ = 0;
};

// The highest number of rounds a device's log speaks of. Pure.
uint32_t rounds_in_log(std::string_view log);

}  // namespace coterie

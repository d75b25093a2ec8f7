// Fleet: the devices of a demo, one process each, with a folder each: its data, its state, its log.
//
// A device that is killed (kill -9, or asked to end by somebody else) is started again on its state directory, as a
// phone starts an app again that it had killed; it goes on where it was. A device that fails by itself ends the demo.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tools/demo/absences.h"
#include "tools/demo/child_process.h"
#include "tools/demo/run_folder.h"

namespace coterie {

struct DemoFleetSettings {
  std::string program;  // coterie itself
  std::string server_url;
  std::string ca_file;
  std::string token;  // good for every device
  uint64_t seed = 1;
  uint32_t devices = 1;
  double dropout = 0;                 // probability that a device vanishes in a round
  uint32_t liars = 0;                 // the first so many devices
  std::string lie;                    // of each of them: `coterie device run --lie`
  std::vector<uint32_t> widths = {};  // of the job, in turn; empty: it has none
  std::vector<std::string> policy;    // what each says of its policy: options of `coterie device run`
  uint32_t groups = 0;                // that devices are in by turns, as simulated ones are; 0: in none
};

class Fleet {
 public:
  // `folder` outlives the fleet.
  Fleet(DemoFleetSettings settings, const RunFolder& folder)
      : settings_(std::move(settings)),
        folder_(folder),
        absences_(settings_.devices, settings_.dropout, settings_.seed) {}

  // Device i (from 1) finds its examples in device_dir(i)/data.cotf.
  Status start();
  // Starts again what was killed, and returns a sentence for each. Errors: a device that failed, or is killed again and
  // again: its last words, and where its log is.
  Result<std::vector<std::string>> look_after();
  void stop(Millis grace);

  // Who vanishes, and when: to be told when rounds begin and end.
  Absences& absences() { return absences_; }
  // Puts to sleep and wakes those whose time has come.
  void drop_out(Instant now);
  uint32_t dropouts() const { return dropouts_; }

  uint32_t restarts() const { return restarts_; }
  // In how many rounds each device trained, as far as its log tells.
  std::vector<uint32_t> rounds_trained() const;

 private:
  Status give_key(uint32_t device) const;
  Result<Child> start_device(uint32_t device) const;
  std::string log_file(uint32_t device) const { return folder_.log_file("device-" + device_label(device)); }

  DemoFleetSettings settings_;
  const RunFolder& folder_;
  std::vector<Child> devices_;
  uint32_t restarts_ = 0;
  Absences absences_;
  std::set<uint32_t> away_;
  uint32_t dropouts_ = 0;
};

// The highest number of rounds a device's log speaks of. Pure.
uint32_t rounds_in_log(std::string_view log);

}  // namespace coterie

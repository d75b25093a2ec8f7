// A reference device: a process that embeds the SDK, as an app would, through its C interface alone. Its examples come
// from a data set file or from a source that tools/data/load.h reads; what it does, it says as JSON lines on standard
// error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "proto/messages/device_requirements.h"
#include "proto/messages/secagg.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct DeviceOptions {
  std::string server_url;
  std::string ca_file;  // empty: the system's certificates
  std::string token;    // of enrollment; needed the first time
  std::string state_dir;
  std::string data;     // open_examples
  uint64_t rounds = 0;  // to take part in; 0: until told to end
  uint64_t seed = 0;    // of shuffling and jitter; 0: random
  bool use_p256 = false;
  uint32_t group = 0;   // that the device is in, from 1; 0: in none
  Bytes authority_key;  // 32 bytes; empty: no authority
  Bytes certificate;    // empty: none
  // Run with the file of a certificate request as its last argument whenever a certificate is due: prints one in
  // hexadecimal. Empty: none is asked for.
  std::string certify_command;
  std::optional<SecurityLevel> security_level_min;
  // Members of coterie_policy; 0: its default.
  uint32_t cohort_min = 0;
  double epsilon_round_max = 0;
  double epsilon_total_max = 0;
  double delta_max = 0;
  uint64_t separation_min = 0;
  double corrupt_share_min = 0;
  uint32_t attempts_max = 0;
  uint32_t openings_max = 0;
  bool accepts_analytics = false;
  // Members of coterie_requirements, likewise.
  DeviceRequirements required;
  double cpu_seconds_per_day = 0;
  uint64_t upload_bytes_per_day = 0;
  uint64_t download_bytes_per_day = 0;
  double joules_per_day = 0;
  double watts = 0;
  double width_max = 0;
  uint64_t training_bytes_max = 0;
  std::string conditions_file;  // conditions_file.h; empty: nothing is said of the device
};

// Runs until the rounds are done, SIGTERM or SIGINT comes (a clean end: 0 and 130), or the client cannot go on.
// Precondition: Interrupt::install().
ExitCode run_device(const DeviceOptions& options);

}  // namespace coterie

// SimulateOptions: everything a user can say about a simulation; what the job says is in the job's file.
#pragma once

#include <cstdint>
#include <string>

#include "tools/attack/attack.h"
#include "tools/demo/options.h"

namespace coterie {

inline constexpr uint32_t kMeanOfLastMax = 100;  // models, each of which is held in memory

struct SimulateOptions {
  std::string job_file;
  DemoOptions demo;       // data, split, model, seed, devices (as many as there are shards), out, json, quiet
  uint32_t devices = 20;  // virtual
  uint32_t shards = 0;    // parts that the data are shared out into; device i has part i modulo shards; 0: devices
  uint32_t rounds = 0;    // 0: as the job says
  uint32_t threads = 0;   // 0: a core each
  double dropout = 0;
  double speed_spread = 0;
  float held_out_share = 0;   // of its own examples, that each device is judged by and never trains on; 0: none
  uint32_t mean_of_last = 1;  // models: each round is judged by the mean of so many, the newest and those before it
  std::string trace_file;     // device,round: who is lost when
  Attack attack;              // a drill: the first devices lie
  std::string checkpoint;     // a folder to go on from; empty: none is written
  bool resumes = false;       // goes on from it
  bool events = false;        // a JSON line on standard output as each attempt ends
  bool adopts_files = false;  // whatever model and held-out data the job names, it gets those of the options above
};

}  // namespace coterie

// JobSettings: everything an operator says about a job: what jobs of every kind have, and what its kind has.
//
// Code that meets jobs of any kind takes std::visit to the kind, with one overload for each: where one is missing it
// does not compile. Code that is reached for horizontal jobs alone (rounds, and what is made of their sums) takes
// horizontal(). docs/adr/0043 says how another kind is added.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/ids.h"
#include "base/problem.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// What jobs of every kind have.
struct CommonSettings {
  std::string name;
  Population population{"default"};  // whoever takes part in the job is enrolled in it; a tenant owns it
  uint32_t weight = 1;               // the job's share of the population, where several jobs want it
  friend bool operator==(const CommonSettings&, const CommonSettings&) = default;
};

// What only jobs of one kind have. In the order of the kinds that job JSON knows (fl_server/json/job_json.cc).
using KindSettings = std::variant<HorizontalSettings>;

struct JobSettings {
  CommonSettings common;
  KindSettings kind;
  friend bool operator==(const JobSettings&, const JobSettings&) = default;

  // Precondition: the job is horizontal.
  const HorizontalSettings& horizontal() const;
  HorizontalSettings& horizontal();
};

// All that is wrong with the settings by themselves, not the first problem alone; empty means valid.
Problems validate(const JobSettings& settings);

// Whether the job's models are released with noise, so that its ledger has an account.
bool has_noise(const JobSettings& settings);

// Whether a round's terms need what devices of the round before trained on (RoundRecord::examples_median).
bool needs_examples_median(const JobSettings& settings);

}  // namespace coterie

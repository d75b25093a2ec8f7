// SelectionRule: one way to choose who of the waiting devices gets a round's tickets. A rule is one row: its job
// settings, how many devices it wants to choose among, and the choice. Job JSON, validation, the check-in desk, the
// simulator and the documents follow from the rows (selection_registry.h); nobody else knows a rule by name.
//
// A rule is pure: the choice follows from what is known of the devices, their random order, and the generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "scheduler/selection/trained_report.h"

namespace coterie {

// The values that a setting of a rule may have, and the sentence that says so.
struct SelectionRange {
  bool (*admits)(float value);
  const char* text;
};

struct SelectionSetting {
  const char* name;     // its key in a job's `selection`
  float default_value;  // where a job does not name it
  SelectionRange range;
  const char* sentence;  // for the documents
};

struct SelectionDraw {
  // One for each device that may be drawn, in an order each as likely as any other; null: nothing is known of the
  // device, and it was not asked yet.
  std::span<const TrainedReport* const> reports;
  size_t tickets = 0;               // above 0, and at most as many as devices
  uint64_t version = 0;             // of the model that the round trains
  std::span<const float> settings;  // in the order of SelectionRule::settings
};

// What a node remembers of the devices that it asks and counts, for a rule to read.
enum class SelectionMemory : uint8_t {
  nothing,
  participation,  // how often each was asked and counted: known at every level, and no word about anybody's data
  training,       // what its last update said of its training. Such a rule draws by the devices' data: it goes with no
                  // noise, and with no level that hides an update (scheduler/job/selection_rules.h)
};

struct SelectionRule {
  const char* name;      // `selection.kind` of a job
  const char* sentence;  // what it does, for the documents
  const char* source;    // of its formula
  std::span<const SelectionSetting> settings;
  SelectionMemory memory = SelectionMemory::nothing;
  // Devices that it chooses so many among: for so many a round waits, unless the job says how many.
  uint64_t (*candidates)(uint64_t tickets, std::span<const float> settings);
  // Indices into draw.reports, each once, `tickets` of them. Null: the first ones.
  std::vector<uint32_t> (*choose)(const SelectionDraw& draw, Prng& chance) = nullptr;
};

// Shared by rows.
inline constexpr SelectionRange kCandidatesRange{[](float value) { return value >= 1 && value <= 20; },
                                                 "must be in [1, 20]"};
inline constexpr const char* kCandidatesSentence = "devices that a round chooses one of, on average; in [1, 20]";
inline constexpr SelectionRange kRatioMaxRange{[](float value) { return value >= 1 && value <= 64; },
                                               "must be in [1, 64]"};
inline constexpr const char* kRatioMaxSentence =
    "how many times as likely as another a device is drawn at most; in [1, 64]";
uint64_t candidates_of(uint64_t tickets, float ratio);  // rounded up

}  // namespace coterie

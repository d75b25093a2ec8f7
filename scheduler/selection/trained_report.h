// TrainedReport: what a selection rule remembers of a device: how often it was counted, what its last update said of
// its training, in few steps, and how many tickets it had since without an update that counted. Pure.
//
// At level none, the only one where rules read more than the count, an update's header says the device's loss and its
// time as they are. What is kept is a step of a half octave or an octave, of 16: enough to tell devices apart by, and
// little for whoever reads the memory of a server. A device that lies moves a number within these steps and no further.
#pragma once

#include <cstdint>

namespace coterie {

inline constexpr uint8_t kReportLevels = 16;

struct TrainedReport {
  uint8_t loss_level = 0;     // below kReportLevels: of the mean loss, from 1/16 (level 0) by factors of sqrt(2)
  uint8_t seconds_level = 0;  // below kReportLevels: of the time that training took, from 1/4 s likewise, in octaves
  uint64_t version = 0;       // of the model that it was last asked to train
  uint32_t counted = 0;       // rounds of the job, as far as they are remembered
  uint32_t asked = 0;         // tickets since its last update that counted
  // It had tickets, and no update of it was counted: its levels say nothing.
  bool is_silent() const { return counted == 0; }
  friend bool operator==(const TrainedReport&, const TrainedReport&) = default;
};

// The levels of `loss_sum` over so many examples, and of the time that training took. What is no loss (no examples, not
// finite, below 0) has level 0: nobody gains by nonsense.
TrainedReport report_of(double loss_sum, uint64_t examples, uint64_t train_ms, uint64_t version);

}  // namespace coterie

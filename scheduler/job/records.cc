#include "scheduler/job/records.h"

namespace coterie {

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::running: return "running";
    case JobState::paused: return "paused";
    case JobState::completed: return "completed";
    case JobState::cancelled: return "cancelled";
    case JobState::failed: return "failed";
  }
  return "unknown";
}

std::string_view to_string(RoundState state) {
  switch (state) {
    case RoundState::selecting: return "selecting";
    case RoundState::collecting: return "collecting";
    case RoundState::frozen: return "frozen";
    case RoundState::finalizing: return "finalizing";
    case RoundState::done: return "done";
    case RoundState::failed: return "failed";
  }
  return "unknown";
}

}  // namespace coterie

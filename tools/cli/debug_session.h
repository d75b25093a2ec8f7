// DebugSession: the debugger's commands carried out, one line at a time. It decides nothing about terminals.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "device_sdk/watch/watch_judge.h"
#include "tools/debug/command.h"
#include "tools/debug/recorded_tensors.h"
#include "tools/debug/step_source.h"

namespace coterie {

struct DebugReply {
  std::string text;  // lines
  bool is_error = false;
  bool quits = false;
};

class DebugSession {
 public:
  // `steps` outlives it. `is_stopped` is asked between steps: true ends what runs, and nothing else.
  DebugSession(StepSource& steps, std::function<bool()> is_stopped)
      : steps_(steps), is_stopped_(std::move(is_stopped)) {}

  std::string greeting() const;
  std::string prompt() const;  // "(step 12) "
  DebugReply execute(std::string_view line);

 private:
  Result<std::string> carry_out(const DebugCommand& command);
  Result<std::string> advance(uint64_t steps, uint64_t until);
  Result<std::string> go_back(uint64_t steps);
  Result<std::string> add_watch(const DebugCommand& command);
  Result<std::string> drop_watch(uint64_t number);
  std::string list_watches() const;
  Result<std::string> recheck();
  Result<std::string> where(const DebugCommand& command) const;
  Result<std::string> compare(const DebugCommand& command) const;
  Result<std::string> save(const DebugCommand& command) const;
  Result<const NamedTensor*> find(const DebugCommand& command) const;
  void moved();       // the tensors are those of another step
  void judge_anew();  // from here on
  std::vector<WatchHit> hits_here() const;

  StepSource& steps_;
  std::function<bool()> is_stopped_;
  std::optional<RecordedTensors> tensors_;  // of steps_.now()
  WatchPlan plan_;
  std::unique_ptr<WatchJudge> judge_;  // null: nothing is watched
};

}  // namespace coterie

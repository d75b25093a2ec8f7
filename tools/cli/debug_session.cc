#include "tools/cli/debug_session.h"

#include <algorithm>

#include "base/os/file.h"
#include "device_sdk/runtime/lora.h"
#include "tools/cli/debug_text.h"
#include "tools/cli/table.h"
#include "tools/cli/watch_report.h"
#include "tools/cli/wrap.h"
#include "tools/debug/judge_record.h"
#include "tools/debug/npy_file.h"
#include "tools/debug/watch_words.h"

namespace coterie {
namespace {

constexpr std::string_view kGradientOf = "gradient of ";
constexpr size_t kExamplesShown = 10;

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

std::string examples_text(const std::vector<uint32_t>& examples) {
  std::string text;
  for (size_t i = 0; i < std::min(examples.size(), kExamplesShown); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(examples[i]);
  }
  return text + (examples.size() > kExamplesShown ? ", ..." : "");
}

// What a hit is of, as `list` names it.
std::string name_of(const WatchHit& hit) {
  const bool is_gradient = hit.tensor.starts_with(kGradientOf);
  return printable(is_gradient ? hit.tensor.substr(kGradientOf.size()) + ".grad" : hit.tensor);
}

}  // namespace

std::string DebugSession::greeting() const { return steps_.description() + "; `help` lists the commands\n"; }

std::string DebugSession::prompt() const {
  const StepRecord* const now = steps_.now();
  return now == nullptr ? "(start) " : "(step " + std::to_string(now->step) + ") ";
}

DebugReply DebugSession::execute(std::string_view line) {
  const auto failed = [](const Error& error) {
    return DebugReply{.text = wrapped("error: " + printable(error.message()), 80, 2) + "\n", .is_error = true};
  };
  const Result<std::optional<DebugCommand>> command = parse_debug_command(line);
  if (!command) return failed(command.error());
  if (!*command) return {};
  if ((*command)->verb == DebugVerb::quit) return {.quits = true};
  const Result<std::string> text = carry_out(**command);
  if (!text) return failed(text.error());
  return {.text = *text};
}

Result<std::string> DebugSession::carry_out(const DebugCommand& command) {
  switch (command.verb) {
    case DebugVerb::step: return advance(command.number.value_or(1), kDebugStepMax);
    case DebugVerb::proceed: return advance(UINT64_MAX, kDebugStepMax);
    case DebugVerb::run: {
      const StepRecord* const now = steps_.now();
      if (now != nullptr && now->step >= *command.number) {
        return bad(now->step == *command.number
                       ? "this is step " + std::to_string(now->step)
                       : "step " + std::to_string(*command.number) + " is in front of this one; `back` goes that way");
      }
      return advance(UINT64_MAX, *command.number);
    }
    case DebugVerb::back: return go_back(command.number.value_or(1));
    case DebugVerb::watch: return add_watch(command);
    case DebugVerb::unwatch: return drop_watch(*command.number);
    case DebugVerb::recheck: return recheck();
    case DebugVerb::help: return debug_help();
    case DebugVerb::where: return where(command);
    default: break;
  }
  if (!tensors_) return bad("no step has run yet: `step` runs the first");
  switch (command.verb) {
    case DebugVerb::list: {
      const auto found = tensors_->matching(command.tensor.empty() ? "*" : command.tensor);
      if (found.empty()) return bad("no tensor or op of this step matches `" + command.tensor + "`");
      return list_text(found);
    }
    case DebugVerb::compare: return compare(command);
    case DebugVerb::save: return save(command);
    default: break;
  }
  COT_ASSIGN(const NamedTensor* const tensor, find(command));
  if (command.verb == DebugVerb::stats) return stats_text(*tensor);
  COT_ASSIGN(const ElementSlice slice, parse_slice(command.slice, tensor->shape));
  return values_text(*tensor, slice);
}

// At most so many steps, and not beyond `until`.
Result<std::string> DebugSession::advance(uint64_t steps, uint64_t until) {
  if (!steps_.next()) return bad("this is the end: no step is behind this one; `back` goes to those in front");
  for (uint64_t done = 0; done < steps; ++done) {
    const std::optional<uint64_t> next = steps_.next();
    if (!next || *next > until) break;
    if (is_stopped_()) return "stopped\n" + (steps_.now() == nullptr ? std::string() : step_line(*steps_.now()));
    COT_TRY(steps_.forward());
    moved();
    if (judge_) judge_record(*steps_.now(), *judge_);
    if (!hits_here().empty() || steps_.now()->has_failed()) break;
  }
  if (steps_.now() == nullptr) {
    return bad("the first step is " + std::to_string(*steps_.next()) + ", and " + std::to_string(until) +
               " is in front of it");
  }
  const StepRecord& now = *steps_.now();
  std::string text = step_line(now);
  if (now.left_out > 0) text += counted(now.left_out, "tensor") + " did not fit, and are not judged\n";
  const std::vector<WatchHit> hits = hits_here();
  if (!hits.empty()) text += "\n" + hits_table(hits);
  if (!steps_.next()) text += "this is the end\n";
  return text;
}

Result<std::string> DebugSession::go_back(uint64_t steps) {
  if (steps_.now() == nullptr) return bad("this is the beginning");
  const Status gone = steps_.back(steps, is_stopped_);
  moved();
  judge_anew();
  COT_TRY(gone);
  return steps_.now() == nullptr ? "in front of the first step\n" : step_line(*steps_.now());
}

Result<std::string> DebugSession::add_watch(const DebugCommand& command) {
  if (command.check.empty()) return list_watches();
  COT_ASSIGN(const std::vector<WatchedCheck> checks, checks_of(command));
  if (plan_.checks.size() + checks.size() > kWatchedChecksMax) {
    return Error(ErrorCode::too_large, "at most " + std::to_string(kWatchedChecksMax) + " watchpoints");
  }
  // By itself: those of `recommended` that match nothing are among the others.
  const WatchPlan added{.checks = checks};
  const bool is_one = command.check == checks[0].check->name;
  if (is_one && WatchedTensors(steps_.model(), added, steps_.is_trained()).idle_check()) {
    return bad(command.check + " matches nothing of this model: it reads " +
               std::string(to_string(checks[0].check->subject)) + ", tensors `" + checks[0].tensors + "`");
  }
  plan_.hits_max = kWatchHitsMax;
  plan_.zero_at_first = {"*" + std::string(kLoraBEnding)};
  plan_.checks.insert(plan_.checks.end(), checks.begin(), checks.end());
  judge_anew();
  return list_watches();
}

Result<std::string> DebugSession::drop_watch(uint64_t number) {
  if (number > plan_.checks.size()) return bad("there are " + counted(plan_.checks.size(), "watchpoint"));
  plan_.checks.erase(plan_.checks.begin() + static_cast<ptrdiff_t>(number - 1));
  judge_anew();
  return list_watches();
}

std::string DebugSession::list_watches() const {
  if (plan_.checks.empty()) return "nothing is watched; `watch CHECK` does, and `watch recommended`\n";
  std::string text;
  for (size_t i = 0; i < plan_.checks.size(); ++i) {
    text += std::to_string(i + 1) + "  " + shortened(words_of(plan_.checks[i]), 76) + "\n";
  }
  return text;
}

Result<std::string> DebugSession::recheck() {
  if (plan_.checks.empty()) return bad("nothing is watched: `watch CHECK` says what to look for");
  if (steps_.now() == nullptr && steps_.next() == std::nullopt) return bad("nothing is recorded");
  std::unique_ptr<WatchJudge> judge;
  bool is_whole = true;
  COT_TRY(steps_.visit_records([&](const StepRecord& record) {
    if (!judge) {
      judge = std::make_unique<WatchJudge>(steps_.model(), plan_, steps_.is_trained(), steps_.steps_an_epoch(),
                                           record.from);
    }
    judge_record(record, *judge);
    is_whole = !is_stopped_();
    return is_whole;
  }));
  if (!judge) return bad("no step is at hand: `step` runs one");
  return watch_text(judge->hits(), judge->looks()) + (is_whole ? "" : "stopped\n");
}

Result<std::string> DebugSession::where(const DebugCommand& command) const {
  const StepRecord* const now = steps_.now();
  if (now == nullptr) return "in front of the first step of " + steps_.description() + "\n";
  if (!command.tensor.empty()) {
    COT_ASSIGN(const NamedTensor* const tensor, find(command));
    return origin_text(steps_.model(), *now, *tensors_, *tensor);
  }
  std::string text = step_line(*now) + "epoch " + std::to_string(now->step / steps_.steps_an_epoch() + 1) +
                     "; examples " + examples_text(now->examples) + "\n";
  for (const WatchHit& hit : hits_here()) {
    const Result<const NamedTensor*> tensor = tensors_->find(name_of(hit));
    if (!tensor) continue;  // a check of the training as a whole
    const std::string origin = origin_text(steps_.model(), *now, *tensors_, **tensor);
    const size_t end = origin.find('\n');
    const std::string sentence = std::string(hit.check) + " hit here: " + origin.substr(0, end);
    return text + "\n" + wrapped(sentence, 80, 2) + origin.substr(end);
  }
  return text;
}

Result<std::string> DebugSession::compare(const DebugCommand& command) const {
  COT_ASSIGN(const NamedTensor* const tensor, find(command));
  const StepRecord* const before = steps_.before();
  if (before == nullptr) return bad("no step in front of this one is at hand");
  const RecordedTensors tensors(steps_.model(), *before);
  COT_ASSIGN(const NamedTensor* const was, tensors.find(tensor->name));
  if (was->shape != tensor->shape) return bad(tensor->name + " had another shape a step before");
  return comparison_text(*tensor, *was, steps_.now()->step, before->step);
}

Result<std::string> DebugSession::save(const DebugCommand& command) const {
  COT_ASSIGN(const NamedTensor* const tensor, find(command));
  COT_ASSIGN(const ElementSlice slice, parse_slice(command.slice, tensor->shape));
  if (os::exists(command.file)) return Error(ErrorCode::conflict, command.file + " is there already");
  const Bytes file = npy_file(*tensor, slice);
  COT_TRY(os::write_file_atomically(command.file, file));
  return "written to " + printable(command.file) + ", " + format_bytes(file.size()) + "\n";
}

Result<const NamedTensor*> DebugSession::find(const DebugCommand& command) const {
  if (!tensors_) return bad("no step has run yet: `step` runs the first");
  return tensors_->find(command.tensor);
}

void DebugSession::moved() {
  tensors_.reset();
  if (steps_.now() != nullptr) tensors_.emplace(steps_.model(), *steps_.now());
}

void DebugSession::judge_anew() {
  judge_.reset();
  if (plan_.checks.empty()) return;
  const StepRecord* const now = steps_.now();
  judge_ = std::make_unique<WatchJudge>(steps_.model(), plan_, steps_.is_trained(), steps_.steps_an_epoch(),
                                        now == nullptr ? TrainingSummary{} : now->summary);
}

std::vector<WatchHit> DebugSession::hits_here() const {
  std::vector<WatchHit> here;
  if (!judge_ || steps_.now() == nullptr) return here;
  std::ranges::copy_if(judge_->hits().hits(), std::back_inserter(here),
                       [&](const WatchHit& hit) { return hit.last_step == steps_.now()->step; });
  return here;
}

}  // namespace coterie

#include "tests/unit/scheduler/round_script.h"

#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "scheduler/round/round_machine.h"
#include "tests/unit/scheduler/round_store_model.h"

namespace coterie::test {
namespace {

std::string text_of(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

Digest model_digest(uint64_t version) {
  Digest digest;
  digest.bytes[0] = static_cast<uint8_t>(version);
  return digest;
}

ErrorCode code_named(const std::string& name) { return error_code_from_name(name); }

class Player {
 public:
  std::string play(const std::string& script) {
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  >")) continue;
      out_ << line << '\n';
      if (line.empty() || line[0] == '#') continue;
      perform(line);
    }
    return out_.str();
  }

  // The lines up to `step`, and `failure` in its place, at its time.
  void play_until(const std::vector<std::string>& steps, size_t step, const std::string& failure) {
    for (size_t i = 0; i < step; ++i) perform(steps[i]);
    const std::string& replaced = steps[step];
    const std::string time = replaced[0] == '@' ? replaced.substr(0, replaced.find(' ') + 1) : "";
    if (failure == "twice") {
      // The same answer, not one to what was asked meanwhile.
      const bool says_which = replaced.find("serial=") != std::string::npos;
      const std::string again = says_which ? replaced : replaced + " serial=" + std::to_string(serial_);
      perform(replaced);
      perform(again);
    } else if (failure != "lost" || (asked_ && std::holds_alternative<MoveRound>(*asked_))) {
      perform(time + failure);
    }
  }

  // From here on everything goes well. Why the job does not come to its end; nothing if it does.
  std::optional<std::string> come_to_an_end() {
    job_.state = job_state_ == JobState::paused ? JobState::running : job_state_;
    RoundStoreModel store(job_, machine_.round(), machine_.accepted());
    if (job_state_ == JobState::paused) show(machine_.step(JobStateChanged{JobState::running}, now_));
    uint64_t told = 0;
    for (int turn = 0; turn < 1'000; ++turn) {
      if (machine_.ended()) return std::nullopt;
      if (asked_ && told != serial_) {
        told = serial_;
        show(machine_.step(store.answer(serial_, *asked_), now_));
        continue;
      }
      if (const auto wake = machine_.next_deadline()) {
        now_ = std::max(now_, *wake);
        told = 0;  // what was asked may be asked again
        show(machine_.step(TimePassed{}, now_));
      }
      show(machine_.step(PoolChanged{1'000}, now_));
    }
    return "after " + std::to_string(store.rounds_done()) + " of " + std::to_string(store.rounds_wanted()) +
           " rounds the job does not go on";
  }

 private:
  using Words = std::vector<std::string>;

  void perform(const std::string& line) {
    std::istringstream stream(line);
    Words words;
    options_.clear();
    for (std::string word; stream >> word;) {
      const size_t equals = word.find('=');
      if (word[0] == '@') now_ = Instant(Millis(std::stoll(word.substr(1))));
      else if (equals != std::string::npos) options_[word.substr(0, equals)] = word.substr(equals + 1);
      else words.push_back(word);
    }
    if (words.empty()) return say("ERROR no event");
    if (words[0] == "job") return set_job();
    note_job_state(words);
    if (words[0] == "restart") machine_ = RoundMachine(JobId("j"));
    if (words[0] == "restart" || words[0] == "start") return show(machine_.start());
    const std::optional<RoundEvent> event = event_of(words);
    if (!event) return say("ERROR not understood");
    show(machine_.step(*event, now_));
  }

  // What an operator has made of the job, as far as the script says.
  void note_job_state(const Words& words) {
    if (words[0] == "job_state" && words.size() > 1) job_state_ = job_state_named(words[1]).value_or(job_state_);
    if (options_.contains("job")) job_state_ = job_state_named(options_["job"]).value_or(job_state_);
  }

  uint64_t number(const char* key, uint64_t fallback) const {
    const auto found = options_.find(key);
    return found == options_.end() ? fallback : std::stoull(found->second);
  }
  std::string word(const char* key, std::string fallback) const {
    const auto found = options_.find(key);
    return found == options_.end() ? fallback : found->second;
  }
  uint64_t serial() const { return number("serial", serial_); }

  void set_job() {
    RoundSettings& rounds = job_.spec.horizontal().rounds;
    rounds.count = static_cast<uint32_t>(number("count", 2));
    rounds.goal_count = static_cast<uint32_t>(number("goal_count", 3));
    rounds.goal_count_min = static_cast<uint32_t>(number("goal_count_min", 1));
    rounds.over_selection = static_cast<double>(number("over_selection_percent", 100)) / 100;
    rounds.pool_min = static_cast<uint32_t>(number("pool_min", 0));
    rounds.selecting_max = Millis(static_cast<int64_t>(number("selecting_ms_max", 1'000)));
    rounds.collecting_max = Millis(static_cast<int64_t>(number("collecting_ms_max", 5'000)));
    rounds.retry_delay = Millis(static_cast<int64_t>(number("retry_delay_ms", 200)));
    rounds.attempts_max = static_cast<uint32_t>(number("attempts_max", 3));
    job_.spec.horizontal().privacy.level = SecurityLevel::none;
    job_.id = JobId("j");
    job_.value_count = 10;
  }

  static std::optional<JobState> job_state_named(const std::string& name) {
    for (const JobState state :
         {JobState::running, JobState::paused, JobState::completed, JobState::cancelled, JobState::failed}) {
      if (to_string(state) == name) return state;
    }
    return std::nullopt;
  }
  static std::optional<RoundState> round_state_named(const std::string& name) {
    for (const RoundState state : {RoundState::selecting, RoundState::collecting, RoundState::frozen,
                                   RoundState::finalizing, RoundState::done, RoundState::failed}) {
      if (to_string(state) == name) return state;
    }
    return std::nullopt;
  }

  static RoundKey key_of(const std::string& text) {
    const size_t dot = text.find('.');
    return {RoundId(std::stoull(text)), Attempt(static_cast<uint32_t>(std::stoul(text.substr(dot + 1))))};
  }

  ModelRecord model(uint64_t version) const {
    ModelRecord model;
    model.job = job_.id;
    model.version = ModelVersion(version);
    model.digest = model_digest(version);
    model.bytes = 100;
    return model;
  }

  // round=7.1 number=1 state=selecting reason=...
  RoundRecord round(const std::string& state) const {
    RoundRecord round;
    round.key = key_of(word("round", "7.1"));
    round.job = job_.id;
    round.number = number("number", round.key.round.value() - 6);
    round.state = round_state_named(state).value_or(RoundState::selecting);
    round.reason = word("reason", "");
    round.selected = static_cast<uint32_t>(number("selected", 0));
    return round;
  }

  // job=running rounds_done=0 [round=7.1 state=collecting accepted=2] [privacy_stop=budget]
  JobProgress progress() const {
    JobProgress progress;
    progress.job = job_;
    progress.job.state = job_state_named(word("job", "running")).value_or(JobState::running);
    progress.job.rounds_done = number("rounds_done", 0);
    progress.head = model(progress.job.rounds_done);
    if (options_.contains("round")) progress.latest = round(word("state", "selecting"));
    progress.accepted = number("accepted", 0);
    progress.privacy_stop = word("privacy_stop", "");
    return progress;
  }

  FinalizedRound finalized() const {
    FinalizedRound round;
    round.key = machine_.round()->key;
    round.model = model(number("version", 1));
    round.totals.updates = number("updates", 3);
    return round;
  }

  std::optional<RoundEvent> event_of(const Words& words) {
    const std::string& name = words[0];
    const std::string argument = words.size() > 1 ? words[1] : "";
    if (name == "failed") return failure(Error(code_named(argument), "the test says " + argument));
    if (name == "loaded") return ProgressLoaded{serial(), progress()};
    if (name == "opened") return RoundOpened{serial(), round(word("state", "selecting"))};
    if (name == "counted") return AcceptedCounted{serial(), std::stoull(argument)};
    if (name == "won") return RoundMoved{serial(), true};
    if (name == "lost") return RoundMoved{serial(), false};
    if (name == "finalized") return RoundFinalized{serial(), finalized()};
    if (name == "committed") return RoundCommitted{serial(), progress()};
    if (name == "job_failed") return JobFailed{serial(), {}};
    if (name == "pool") return PoolChanged{std::stoull(argument)};
    if (name == "tickets") {
      return TicketsIssued{key_of(word("round", "7.1")), static_cast<uint32_t>(std::stoul(argument))};
    }
    if (name == "accepted") return UpdatesAccepted{key_of(word("round", "7.1")), std::stoull(argument)};
    if (name == "tick") return TimePassed{};
    if (name == "job_state") {
      if (const auto state = job_state_named(argument)) return JobStateChanged{*state};
    }
    return std::nullopt;
  }

  // The answer "it failed" to whatever was asked last.
  std::optional<RoundEvent> failure(const Error& error) const {
    const uint64_t n = serial();
    if (!asked_) return std::nullopt;
    struct Visitor {
      uint64_t n;
      const Error& error;
      RoundEvent operator()(const LoadProgress&) const { return ProgressLoaded{n, error}; }
      RoundEvent operator()(const OpenRound&) const { return RoundOpened{n, error}; }
      RoundEvent operator()(const CountAccepted&) const { return AcceptedCounted{n, error}; }
      RoundEvent operator()(const MoveRound&) const { return RoundMoved{n, error}; }
      RoundEvent operator()(const FinalizeRound&) const { return RoundFinalized{n, error}; }
      RoundEvent operator()(const CommitRound&) const { return RoundCommitted{n, error}; }
      RoundEvent operator()(const FailJob&) const { return JobFailed{n, error}; }
    };
    return std::visit(Visitor{n, error}, *asked_);
  }

  void show(const RoundEffects& effects) {
    machine_.check();
    for (const RoundEffect& effect : effects) {
      if (const auto* ask = std::get_if<AskRound>(&effect)) {
        serial_ = ask->serial;
        asked_ = ask->request;
        say("ask " + std::to_string(ask->serial) + " " + text_of_request(ask->request));
      } else if (const auto* published = std::get_if<PublishRound>(&effect)) {
        const RoundNotice& notice = published->notice;
        say("publish " + text_of(notice.key) + " " + std::string(to_string(notice.state)) +
            " tickets=" + std::to_string(notice.ticket_count) + " goal=" + std::to_string(notice.goal_count) +
            " model=" + std::to_string(notice.assignment.model_version.value()) +
            " until=" + std::to_string(published->rules.deadline.time_since_epoch().count()));
      } else {
        say("withdraw " + text_of(std::get<WithdrawRound>(effect).key));
      }
    }
    if (const auto wake = machine_.next_deadline(); wake != wake_) {
      wake_ = wake;
      say(wake ? "wake " + std::to_string(wake->time_since_epoch().count()) : "wake never");
    }
    if (machine_.ended() && !ended_) say("ended");
    ended_ = machine_.ended();
  }

  static std::string text_of_request(const RoundRequest& request) {
    struct Visitor {
      std::string operator()(const LoadProgress&) const { return "load"; }
      std::string operator()(const OpenRound& r) const {
        return "open number=" + std::to_string(r.number) + " attempt=" + std::to_string(r.attempt.value()) +
               (r.round ? " round=" + std::to_string(r.round->value()) : "") +
               " base=" + std::to_string(r.base.version.value());
      }
      std::string operator()(const CountAccepted& r) const { return "count " + text_of(r.key); }
      std::string operator()(const MoveRound& r) const {
        return "move " + text_of(r.key) + " " + std::string(to_string(r.from)) + "->" + std::string(to_string(r.to)) +
               " selected=" + std::to_string(r.selected) + (r.reason.empty() ? "" : " because \"" + r.reason + "\"") +
               (r.if_nobody_counts ? " if nobody counts" : "") + (r.voids_release ? " and void the release" : "");
      }
      std::string operator()(const FinalizeRound& r) const {
        return "finalize " + text_of(r.round.key) + " base=" + std::to_string(r.base.version.value());
      }
      std::string operator()(const CommitRound& r) const {
        return "commit " + text_of(r.round.key) + " number=" + std::to_string(r.number) +
               " model=" + std::to_string(r.round.model.version.value()) + (r.opens_next ? " opens_next" : "") +
               (r.completes_job ? " completes_job" : "");
      }
      std::string operator()(const FailJob& r) const { return "fail_job because \"" + r.reason + "\""; }
    };
    return std::visit(Visitor{}, request);
  }

  void say(const std::string& line) { out_ << "  > " << line << '\n'; }

  std::ostringstream out_;
  JobRecord job_;
  JobState job_state_ = JobState::running;
  RoundMachine machine_{JobId("j")};
  Instant now_{};
  std::map<std::string, std::string> options_;
  uint64_t serial_ = 0;
  std::optional<RoundRequest> asked_;
  std::optional<Instant> wake_;
  bool ended_ = false;
};

}  // namespace

std::string play_round_script(const std::string& script) { return Player().play(script); }

// What may come in the place of an answer or a hint. Not an option: an answer of another kind than was asked for.
constexpr const char* kFailures[] = {
    "failed unavailable",  // the store is away, or its answer is lost
    "failed conflict",     // another leader was faster
    "failed data_loss",    // what is stored is damaged
    "failed storage_full",
    "lost",                 // the race for a move
    "restart",              // the process dies before the answer comes
    "tick",                 // the answer comes late
    "twice",                // and once more
    "job_state cancelled",  // an operator
    "job_state paused",
};

std::vector<std::string> play_with_failures(const std::string& script, int& replays) {
  std::vector<std::string> steps;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#' && !line.starts_with("  >")) steps.push_back(line);
  }
  std::vector<std::string> problems;
  for (size_t step = 2; step < steps.size(); ++step) {  // the first two set the job and start the machine
    for (const char* failure : kFailures) {
      Player player;
      player.play_until(steps, step, failure);
      ++replays;
      if (const auto stuck = player.come_to_an_end()) {
        problems.push_back("step " + std::to_string(step) + " (" + steps[step] + ") replaced by \"" + failure +
                           "\": " + *stuck);
      }
    }
  }
  return problems;
}

}  // namespace coterie::test

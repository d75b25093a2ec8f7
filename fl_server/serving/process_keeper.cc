#include "fl_server/serving/process_keeper.h"

#include <algorithm>

namespace coterie {

ProcessKeeper::ProcessKeeper(ProcessKeeperSettings settings) : settings_(settings), processes_(settings.processes) {
  COT_ASSERT(settings_.processes > 0 && settings_.trial_ends_max > 0 && settings_.versions_kept > 0);
}

ProcessKeeper::Version& ProcessKeeper::sent_to(const Process& process) {
  return must_find(versions_, process.next, "what a process was sent is remembered");
}

// Some process was sent what came at this place.
bool ProcessKeeper::is_busy(uint64_t place) const {
  return std::ranges::any_of(processes_,
                             [place](const Process& process) { return process.is_sent && process.next == place; });
}

bool ProcessKeeper::is_on_trial(uint64_t place, const Version& version) const {
  return version.trust == Trust::untried && is_busy(place);
}

bool ProcessKeeper::has_trusted() const {
  return std::ranges::any_of(versions_, [](const auto& version) { return version.second.trust == Trust::trusted; });
}

bool ProcessKeeper::holds(uint64_t number) const {
  return std::ranges::any_of(versions_, [number](const auto& version) {
    return version.second.number == number && version.second.trust != Trust::over;
  });
}

bool ProcessKeeper::is_everywhere(uint64_t number) const {
  for (const auto& [place, version] : versions_) {
    if (version.number != number || version.trust != Trust::trusted) continue;
    return std::ranges::all_of(processes_, [place = place](const Process& process) {
      return process.state == State::resting || process.state == State::loading || process.next > place;
    });
  }
  return false;
}

std::optional<uint64_t> ProcessKeeper::sent(size_t process) const {
  const Process& one = processes_[process];
  if (!one.is_sent) return {};
  return must_find(versions_, one.next, "what a process was sent is remembered").number;
}

Millis ProcessKeeper::delay(size_t process, Instant now) const {
  return std::max(processes_[process].due - now, Millis(0));
}

bool ProcessKeeper::version_came(uint64_t number) {
  if (holds(number)) return false;
  versions_.emplace(next_place_++, Version{.number = number});
  retire();
  return true;
}

void ProcessKeeper::promoted(std::optional<uint64_t> number) {
  promoted_ = number;
  retire();
}

// Those that nobody needs who starts later: a newer one is there, tried or on its way, and it is not promoted.
void ProcessKeeper::retire() {
  std::vector<uint64_t> trusted;
  uint64_t untried_newest = 0;
  for (const auto& [place, version] : versions_) {
    if (version.trust == Trust::trusted) trusted.push_back(version.number);
    if (version.trust == Trust::untried) untried_newest = std::max(untried_newest, version.number);
  }
  std::ranges::sort(trusted, std::greater());
  const uint64_t trusted_oldest = trusted.empty() ? 0 : trusted[std::min(trusted.size(), settings_.versions_kept) - 1];
  for (auto& [place, version] : versions_) {
    if (version.number == promoted_ || is_on_trial(place, version)) continue;
    const uint64_t oldest = version.trust == Trust::trusted ? trusted_oldest : untried_newest;
    if (version.number < oldest) version.trust = Trust::over;
  }
  std::erase_if(versions_, [this](const auto& one) { return one.second.trust == Trust::over && !is_busy(one.first); });
  check_if_due();
}

void ProcessKeeper::answered(size_t process, Trust outcome) {
  Process& one = processes_[process];
  COT_ASSERT(one.is_sent);
  Version& version = sent_to(one);
  if (version.trust == Trust::untried) version.trust = outcome;
  one.is_sent = false;
  ++one.next;
  retire();
}

void ProcessKeeper::served(size_t process) { answered(process, Trust::trusted); }
void ProcessKeeper::refused(size_t process) { answered(process, Trust::over); }

void ProcessKeeper::opened(size_t process, Instant now) {
  Process& one = processes_[process];
  COT_ASSERT(one.state == State::opening);
  one.state = State::serving;
  one.opened = now;
  has_served_ = true;
  check_if_due();
}

std::optional<uint64_t> ProcessKeeper::ended(size_t process, Instant now) {
  Process& one = processes_[process];
  COT_ASSERT(one.state != State::resting);
  std::optional<uint64_t> given_up;
  if (one.is_sent) {
    Version& version = sent_to(one);
    if (version.trust == Trust::untried && ++version.ends >= settings_.trial_ends_max) {
      version.trust = Trust::over;
      given_up = version.number;
    }
  }
  rest(process, now);
  return given_up;
}

void ProcessKeeper::not_started(size_t process, Instant now) {
  COT_ASSERT(processes_[process].state != State::resting);
  rest(process, now);
}

void ProcessKeeper::rest(size_t process, Instant now) {
  Process& one = processes_[process];
  if (one.state == State::serving && now - one.opened >= settings_.steady_after) one.short_lives = 0;
  const int64_t doubled = settings_.delay_first.count() << std::min<uint32_t>(one.short_lives, 20);
  const Instant due = now + std::min(Millis(doubled), settings_.delay_max);
  one = {.short_lives = one.short_lives + 1, .due = due};
  has_failed_ = has_failed_ || !has_served_;
  retire();
}

// A process that loads takes what is trusted, and opens. Where nothing is, it tries what there is; so does one that
// serves, one process at a time.
std::optional<ProcessStep> ProcessKeeper::next_of(size_t process) {
  Process& one = processes_[process];
  if (one.state == State::resting || one.state == State::opening || one.is_sent) return {};
  const auto open = [&] {
    one.state = State::opening;
    return ProcessStep{.kind = ProcessStep::Kind::open, .process = process};
  };
  for (auto& [place, version] : versions_) {
    if (place < one.next || version.trust == Trust::over) continue;
    if (version.trust == Trust::untried) {
      const bool is_tried =
          std::ranges::any_of(versions_, [this](const auto& other) { return is_on_trial(other.first, other.second); });
      if (one.state == State::loading && (is_tried || has_trusted())) break;
      if (is_tried) return {};
    }
    one.next = place;
    one.is_sent = true;
    return ProcessStep{.kind = ProcessStep::Kind::send, .process = process, .version = version.number};
  }
  if (one.state == State::loading) return open();
  return {};
}

std::vector<ProcessStep> ProcessKeeper::steps(Instant now) {
  std::vector<ProcessStep> steps;
  if (is_stopped_ || has_failed_) return steps;
  for (size_t process = 0; process < processes_.size(); ++process) {
    Process& one = processes_[process];
    if (one.state != State::resting || one.due > now || (process > 0 && !has_served_)) continue;
    one.state = State::loading;
    steps.push_back({.kind = ProcessStep::Kind::start, .process = process});
  }
  for (size_t process = 0; process < processes_.size(); ++process) {
    if (const auto step = next_of(process)) steps.push_back(*step);
  }
  check_if_due();
  return steps;
}

Instant ProcessKeeper::next_due() const {
  Instant due = Instant::max();
  if (is_stopped_ || has_failed_) return due;
  for (size_t process = 0; process < processes_.size(); ++process) {
    const Process& one = processes_[process];
    if (one.state == State::resting && (process == 0 || has_served_)) due = std::min(due, one.due);
  }
  return due;
}

void ProcessKeeper::check_if_due() {
  if (step_check_.is_due(processes_.size() * versions_.size())) check();
}

void ProcessKeeper::check() const {
  size_t running = 0, trying = 0;
  for (const Process& process : processes_) {
    running += process.state != State::resting ? 1 : 0;
    if (process.is_sent) {
      const Version& version = must_find(versions_, process.next, "what a process was sent is remembered");
      trying += version.trust == Trust::untried ? 1 : 0;
    }
    const bool may_have_some = process.state == State::loading || process.state == State::serving;
    COT_INVARIANT(!process.is_sent || may_have_some, "only a process that loads or serves was sent a version");
    COT_INVARIANT(process.next <= next_place_, "a process stands at no version that has not come");
    COT_INVARIANT(process.state != State::serving || has_served_, "where a process serves, one has served");
  }
  COT_INVARIANT(trying <= 1, "one process at a time tries a version");
  COT_INVARIANT(has_served_ || running <= 1, "until one has served, the first process is alone");
  COT_INVARIANT(!has_failed_ || running == 0, "behind a first process that ended before it served, nothing runs");
  for (const auto& [place, version] : versions_) {
    COT_INVARIANT(version.trust != Trust::untried || version.ends < settings_.trial_ends_max,
                  "a version that processes die of is given up");
    const auto is_held = [number = version.number](const auto& other) {
      return other.second.number == number && other.second.trust != Trust::over;
    };
    COT_INVARIANT(version.trust != Trust::over || is_busy(place), "what is over is remembered while it is sent alone");
    COT_INVARIANT(std::ranges::count_if(versions_, is_held) <= 1, "a version is held once");
  }
}

}  // namespace coterie

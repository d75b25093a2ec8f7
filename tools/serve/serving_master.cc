#include "tools/serve/serving_master.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/os/clock.h"
#include "fl_server/net/bound_port.h"
#include "fl_server/serving/metrics_board.h"
#include "fl_server/serving/process_keeper.h"
#include "fl_server/serving/process_pulse.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/report.h"
#include "tools/serve/served_source.h"
#include "tools/serve/serving_keys.h"
#include "tools/serve/serving_process.h"
#include "tools/serve/serving_worker.h"
#include "tools/serve/source_watch.h"
#include "tools/serve/started_process.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "serve";
constexpr Millis kLookEvery{500};                                      // at the source
constexpr time_t kPulseEverySeconds = 1;                               // a look at who shows life
constexpr Millis kEndMax = ServingProcess::kDrainMax + Millis(5'000);  // then a process that was told to stop is killed

Error failed(const char* what) {
  return Error(ErrorCode::unavailable, std::string(what) + ": " + std::strerror(errno));
}

// The bytes of a version as an open file that nobody changes any more.
Result<os::File> sealed(const SourcedVersion& version) {
  os::File file(::memfd_create("coterie-version", MFD_CLOEXEC | MFD_ALLOW_SEALING), "a version of the model");
  if (!file.is_open()) return failed("memfd_create");
  COT_TRY(file.write_all(version.file));
  if (::fcntl(file.fd(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return failed("F_ADD_SEALS");
  return file;
}

struct Held {
  os::File file;
  bool is_told = false;  // to the user, that it is served
};

class Master {
 public:
  // `first`: what the source had at first.
  Master(const ServeOptions& options, ServingKeys keys, MetricsBoard board, std::optional<SourcedVersion> first)
      : options_(options),
        keys_(std::move(keys)),
        name_(served_name(options)),
        board_(std::move(board)),
        keeper_({.processes = options.processes}),
        pulse_(options.processes, std::max(1u, options.hung_after_s)),
        processes_(options.processes),
        ends_(options.processes),
        first_(std::move(first)) {}

  Status open();
  // Until it is told to stop, or the first process did not serve.
  Result<ExitCode> run(std::unique_ptr<ModelSource> source);

 private:
  enum Ring : uint64_t { news, time, pulse, first_process };

  Status watch(int fd, uint64_t ring) const;
  void take(SourceWatch::News news);
  Status hold(SourcedVersion version);
  void act();
  void start(size_t process);
  void say(size_t process, LinkMessage::Kind kind, uint64_t number = 0);
  void hear(size_t process);
  void hear(size_t process, const LinkMessage& message);
  void bury(size_t process);
  void feel_pulses();
  void tell_news();
  void set_timer() const;
  std::string figures() const;
  void stop();

  const ServeOptions options_;
  const ServingKeys keys_;
  const std::string name_;
  BoundPort rest_, grpc_;
  MetricsBoard board_;
  ProcessKeeper keeper_;
  ProcessPulse pulse_;
  std::vector<std::unique_ptr<StartedProcess>> processes_;  // null: rests
  std::vector<uint64_t> ends_;                              // of each place
  ProcessEnd last_end_;
  std::map<uint64_t, Held> held_;  // by number
  std::optional<uint64_t> promoted_;
  std::optional<SourcedVersion> first_;
  os::File rings_, timer_, pulse_timer_;
  bool has_told_where_ = false;
};

Status Master::watch(int fd, uint64_t ring) const {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = ring}};
  if (::epoll_ctl(rings_.fd(), EPOLL_CTL_ADD, fd, &event) != 0) return failed("epoll");
  return {};
}

Status Master::open() {
  COT_ASSIGN(rest_, bind_port(options_.address, options_.port, PortUse::inherited));
  if (options_.grpc_port) {
    COT_ASSIGN(grpc_, bind_port(options_.address, *options_.grpc_port, PortUse::reserved));
  }
  rings_ = os::File(::epoll_create1(EPOLL_CLOEXEC), "epoll");
  timer_ = os::File(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd");
  pulse_timer_ = os::File(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd");
  if (!rings_.is_open() || !timer_.is_open() || !pulse_timer_.is_open()) return failed("epoll");
  if (options_.hung_after_s > 0) {
    const itimerspec every{{kPulseEverySeconds, 0}, {kPulseEverySeconds, 0}};
    ::timerfd_settime(pulse_timer_.fd(), 0, &every, nullptr);
    COT_TRY(watch(pulse_timer_.fd(), pulse));
  }
  return watch(timer_.fd(), time);
}

Status Master::hold(SourcedVersion version) {
  COT_ASSIGN(os::File file, sealed(version));
  if (keeper_.version_came(version.number)) held_.insert_or_assign(version.number, Held{.file = std::move(file)});
  return {};
}

void Master::take(SourceWatch::News news) {
  if (news.error && !may_come_later(options_, *news.error)) print_error(kCommand, *news.error);
  const bool is_promotion_new = std::exchange(promoted_, news.promoted) != news.promoted;
  if (is_promotion_new) keeper_.promoted(promoted_);
  if (news.version) {
    const Status held = hold(*std::move(news.version));
    if (!held) print_error(kCommand, held.error());
  }
  if (!is_promotion_new) return;
  for (size_t process = 0; process < processes_.size(); ++process) {
    if (processes_[process]) say(process, LinkMessage::Kind::promoted);
  }
  tell("promoted: " + (promoted_ ? "version " + std::to_string(*promoted_) : "none"));
}

void Master::start(size_t process) {
  Result<StartedProcess> started = StartedProcess::start({.number = static_cast<uint32_t>(process + 1),
                                                          .link = -1,
                                                          .rest_socket = rest_.socket.fd(),
                                                          .board = board_.file().fd(),
                                                          .grpc_port = grpc_.port});
  Status watched;
  if (started) watched = watch(started->link().fd(), first_process + process);
  if (started && watched) {
    processes_[process] = std::make_unique<StartedProcess>(*std::move(started));
    pulse_.began(process);
    return;
  }
  print_error(kCommand, started ? watched.error() : started.error());
  last_end_ = {.exit_code = static_cast<int>(ExitCode::failure)};
  keeper_.not_started(process, os::monotonic_now());
}

// A process that takes no more words is stuck: another takes its place.
void Master::say(size_t process, LinkMessage::Kind kind, uint64_t number) {
  LinkMessage message{.kind = kind, .number = number, .promoted = promoted_};
  Held* const held = kind == LinkMessage::Kind::version ? &held_.at(number) : nullptr;
  if (held != nullptr) message.file = std::move(held->file);
  if (const Status said = processes_[process]->link().send(message); !said) processes_[process]->signal(SIGKILL);
  if (held != nullptr) held->file = std::move(message.file);
}

void Master::act() {
  for (bool goes_on = true; goes_on;) {
    const std::vector<ProcessStep> steps = keeper_.steps(os::monotonic_now());
    goes_on = !steps.empty();
    for (const ProcessStep& step : steps) {
      if (step.kind == ProcessStep::Kind::start) start(step.process);
      else if (!processes_[step.process]) continue;  // it could not be started
      else if (step.kind == ProcessStep::Kind::send) say(step.process, LinkMessage::Kind::version, step.version);
      else say(step.process, LinkMessage::Kind::open);
    }
  }
  tell_news();
  std::erase_if(held_, [this](const auto& held) { return !keeper_.holds(held.first); });
  board_.write(0, figures());
  set_timer();
}

void Master::hear(size_t process, const LinkMessage& message) {
  const bool is_answer = keeper_.sent(process) == message.number;
  switch (message.kind) {
    case LinkMessage::Kind::served:
      if (is_answer) return keeper_.served(process);
      break;
    case LinkMessage::Kind::refused:
      if (!is_answer) break;
      keeper_.refused(process);
      if (keeper_.holds(message.number)) {
        tell("process " + std::to_string(process + 1) + " does without version " + std::to_string(message.number));
      }
      return print_error(kCommand, Error(ErrorCode::malformed, message.text));
    case LinkMessage::Kind::opened:
      if (!keeper_.opens(process)) break;
      keeper_.opened(process, os::monotonic_now());
      tell("process " + std::to_string(process + 1) + (ends_[process] > 0 ? " serves again, pid " : " serves, pid ") +
           std::to_string(processes_[process]->pid()));
      return;
    default: break;
  }
  processes_[process]->signal(SIGKILL);  // what it said is no answer to anything
}

void Master::hear(size_t process) {
  while (processes_[process]) {
    const Result<std::optional<LinkMessage>> message = processes_[process]->link().receive();
    if (!message) return bury(process);
    if (!*message) return;
    hear(process, **message);
  }
}

// What hangs holds its connections, and the system goes on giving it new ones: it is better dead.
void Master::feel_pulses() {
  for (size_t process = 0; process < processes_.size(); ++process) {
    if (!processes_[process] || !pulse_.look(process, board_.writes(process + 1))) continue;
    tell("process " + std::to_string(process + 1) + ", pid " + std::to_string(processes_[process]->pid()) +
         ", shows no life for " + std::to_string(options_.hung_after_s) + " s: it is killed");
    processes_[process]->signal(SIGKILL);
  }
}

void Master::bury(size_t process) {
  const pid_t pid = processes_[process]->pid();
  last_end_ = processes_[process]->reap();
  processes_[process].reset();
  board_.write(process + 1, {});
  if (Interrupt::requested()) return;
  const Instant now = os::monotonic_now();
  const std::optional<uint64_t> given_up = keeper_.ended(process, now);
  if (keeper_.has_failed()) return;
  ++ends_[process];
  tell("process " + std::to_string(process + 1) + ", pid " + std::to_string(pid) + ", " + last_end_.words() +
       "; another takes its place in " + std::to_string(keeper_.delay(process, now).count()) + " ms");
  if (given_up) {
    tell("version " + std::to_string(*given_up) +
         " is given up: processes end while they load it; what was there before goes on answering");
  }
}

void Master::tell_news() {
  for (auto& [number, held] : held_) {
    if (held.is_told || !keeper_.is_everywhere(number)) continue;
    held.is_told = true;
    tell("serving " + name_ + " version " + std::to_string(number));
  }
  const auto serves = [this](size_t process) { return keeper_.serves(process); };
  if (has_told_where_ || !serves(0)) return;
  has_told_where_ = true;
  std::optional<uint16_t> grpc;
  if (options_.grpc_port) grpc = grpc_.port;
  tell_how_to_ask(options_, keys_, {rest_.port, grpc});
}

// The master's own, which stand beside the processes'.
std::string Master::figures() const {
  size_t serving = 0;
  for (size_t process = 0; process < processes_.size(); ++process) serving += keeper_.serves(process) ? 1 : 0;
  std::string text =
      "# HELP coterie_serving_processes Processes that take connections\n# TYPE coterie_serving_processes gauge\n"
      "coterie_serving_processes " +
      std::to_string(serving) +
      "\n# HELP coterie_serving_process_ends_total Processes that ended without being told to, by their place\n"
      "# TYPE coterie_serving_process_ends_total counter\n";
  for (size_t process = 0; process < ends_.size(); ++process) {
    text += "coterie_serving_process_ends_total{process=\"" + std::to_string(process + 1) + "\"} " +
            std::to_string(ends_[process]) + "\n";
  }
  return text;
}

void Master::set_timer() const {
  const Instant due = keeper_.next_due();
  itimerspec at{};
  if (due != Instant::max()) {
    const Millis left = std::max(due - os::monotonic_now(), Millis(1));  // 0 would be never
    at.it_value.tv_sec = static_cast<time_t>(left.count() / 1000);
    at.it_value.tv_nsec = static_cast<long>(left.count() % 1000 * 1'000'000);
  }
  ::timerfd_settime(timer_.fd(), 0, &at, nullptr);
}

Result<ExitCode> Master::run(std::unique_ptr<ModelSource> source) {
  promoted_ = source->promoted();
  keeper_.promoted(promoted_);
  if (first_) COT_TRY(hold(*std::exchange(first_, std::nullopt)));
  COT_ASSIGN(const auto watched, SourceWatch::make(std::move(source), promoted_, kLookEvery));
  COT_TRY(watch(watched->fd(), news));
  for (;;) {
    act();
    if (keeper_.has_failed()) {
      if (last_end_.signal == 0 && last_end_.exit_code != 0) return static_cast<ExitCode>(last_end_.exit_code);
      return Error(ErrorCode::internal, "the first process " + last_end_.words() + " before it served");
    }
    const Status waited = Interrupt::wait_for_input(rings_.fd());
    if (!waited) {
      stop();
      return waited.error();
    }
    epoll_event events[16];
    const int count = ::epoll_wait(rings_.fd(), events, std::size(events), 0);
    for (int i = 0; i < count; ++i) {
      const uint64_t ring = events[i].data.u64;
      if (ring >= first_process) {
        hear(ring - first_process);
      } else if (ring == news) {
        for (SourceWatch::News& one : watched->take()) take(std::move(one));
      } else {
        uint64_t times = 0;
        const os::File& timer = ring == pulse ? pulse_timer_ : timer_;
        if (::read(timer.fd(), &times, sizeof times) < 0) continue;  // it was set anew
        if (ring == pulse) feel_pulses();
      }
    }
  }
}

// Processes answer what is under way, and end.
void Master::stop() {
  keeper_.stop();
  rest_.socket = {};
  grpc_.socket = {};
  for (const auto& process : processes_) {
    if (process) process->signal(SIGTERM);
  }
  const Instant until = os::monotonic_now() + kEndMax;
  for (;;) {
    std::vector<pollfd> ends;
    for (const auto& process : processes_) ends.push_back({process ? process->link().fd() : -1, POLLIN, 0});
    const Millis left = until - os::monotonic_now();
    const bool are_gone = std::ranges::none_of(processes_, [](const auto& process) { return process != nullptr; });
    if (are_gone || left <= Millis(0)) break;
    if (::poll(ends.data(), ends.size(), static_cast<int>(left.count())) < 0) continue;  // a further signal
    for (size_t process = 0; process < ends.size(); ++process) {
      if (ends[process].revents != 0) hear(process);
    }
  }
  for (size_t process = 0; process < processes_.size(); ++process) {
    if (!processes_[process]) continue;
    tell("process " + std::to_string(process + 1) + " is killed: it did not end in time");
    processes_[process].reset();
  }
}

}  // namespace

Result<ExitCode> serve_by_processes(const ServeOptions& options, const AdminCommand& admin) {
  ServingKeys keys;
  if (!options.is_insecure) {
    COT_ASSIGN(keys, open_serving_keys(options, os::wall_now()));
  }
  COT_ASSIGN(auto source, open_model_source(options, admin));
  Result<std::optional<SourcedVersion>> first = source->next();
  if (!first && !may_come_later(options, first.error())) return first.error();
  COT_ASSIGN(MetricsBoard board, MetricsBoard::make(options.processes + 1));
  Master master(options, std::move(keys), std::move(board), first ? *std::move(first) : std::nullopt);
  COT_TRY(master.open());
  return master.run(std::move(source));
}

}  // namespace coterie

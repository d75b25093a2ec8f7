#include "tests/simulation/vertical/simulated_process.h"

#include <utility>

#include "tests/simulation/vertical/vertical_world.h"

namespace coterie::simulation {
namespace {

// The party's end of a connection.
class SimulatedStream final : public vertical::ByteStream {
 public:
  SimulatedStream(SimulatedProcess& process, std::shared_ptr<Connection> connection, Millis patience)
      : process_(process), connection_(std::move(connection)), patience_(patience) {
    connection_->attach(Connection::kParty, {.heard = [this](ByteView bytes) { hear(bytes); },
                                             .ended =
                                                 [this] {
                                                   has_ended_ = true;
                                                   process_.wake();
                                                 }});
  }
  ~SimulatedStream() override { connection_->close(Connection::kParty); }

  Status write_all(ByteView bytes) override {
    process_.effect();
    if (has_ended_) return gone();
    connection_->send(Connection::kParty, bytes);
    return {};
  }
  Status read_exact(std::span<uint8_t> into) override {
    process_.effect();
    while (arrived_.size() < into.size()) COT_TRY(wait_for_more());
    take(into);
    return {};
  }
  Result<size_t> read_some(std::span<uint8_t> into) override {
    process_.effect();
    while (arrived_.empty()) COT_TRY(wait_for_more());
    const size_t count = std::min(into.size(), arrived_.size());
    take(into.first(count));
    return count;
  }

 private:
  static Error gone() { return Error(ErrorCode::unavailable, "the other side has closed the connection"); }
  void hear(ByteView bytes) {
    arrived_.insert(arrived_.end(), bytes.begin(), bytes.end());
    process_.wake();
  }
  Status wait_for_more() {
    if (has_ended_) return gone();
    if (!process_.rest(patience_)) return Error(ErrorCode::timed_out, "nothing came for as long as is allowed");
    return {};
  }
  void take(std::span<uint8_t> into) {
    std::copy_n(arrived_.begin(), into.size(), into.begin());
    arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<ptrdiff_t>(into.size()));
  }

  SimulatedProcess& process_;
  std::shared_ptr<Connection> connection_;
  Millis patience_;
  Bytes arrived_;
  bool has_ended_ = false;
};

}  // namespace

SimulatedProcess::SimulatedProcess(VerticalWorld& world, ProcessTerms terms, std::function<void()> body,
                                   std::function<void()> ended)
    : world_(world), terms_(std::move(terms)), ended_(std::move(ended)), actor_([this, body = std::move(body)] {
        const Surrounded surrounded(*this);
        body();
      }) {}

void SimulatedProcess::go_on() {
  actor_.resume();
  if (actor_.has_ended()) ended_();
}

void SimulatedProcess::kill() {
  if (actor_.has_ended()) return;
  is_asleep_ = false;
  actor_.kill();
  ended_();
}

void SimulatedProcess::effect() {
  if (++effects_ == terms_.effects_until_killed) die();
}

bool SimulatedProcess::rest(Millis time) {
  const uint64_t number = ++rests_;
  world_.queue().after(time, [this, number] {
    if (is_asleep_ && number == rests_) {
      is_asleep_ = false;
      go_on();
    }
  });
  is_asleep_ = true;
  is_woken_ = false;
  actor_.block();
  return is_woken_;
}

void SimulatedProcess::wake() {
  if (!is_asleep_ || actor_.has_ended()) return;
  is_asleep_ = false;
  is_woken_ = true;
  go_on();
}

Instant SimulatedProcess::now() { return world_.queue().now(); }

Status SimulatedProcess::wait(Millis time) {
  effect();
  (void)rest(time);
  return {};
}

void SimulatedProcess::draw(std::span<uint8_t> bytes) { world_.draw(terms_.job, terms_.party.value_or(0), bytes); }

Result<std::unique_ptr<vertical::ByteStream>> SimulatedProcess::dial(const vertical::LinkPatience& patience) {
  effect();
  (void)rest(world_.some_delay());
  const std::shared_ptr<Connection> connection = world_.connect(*this);
  if (!connection) return Error(ErrorCode::unavailable, "nobody listens there");
  return std::unique_ptr<vertical::ByteStream>(std::make_unique<SimulatedStream>(*this, connection, patience.time));
}

bool SimulatedProcess::begin_file(const std::string& path, ByteView bytes) {
  effect();
  return !terms_.party || world_.party_writes(terms_.job, *terms_.party, path, bytes);
}

std::optional<size_t> SimulatedProcess::appended(const std::string& path, size_t bytes) {
  if (bytes == 0) return 0;
  if (world_.options().mutant == VerticalMutant::buckets_forgotten && path.ends_with("/buckets")) return std::nullopt;
  return ++effects_ == terms_.effects_until_killed ? world_.prng().below(bytes) : bytes;
}

}  // namespace coterie::simulation

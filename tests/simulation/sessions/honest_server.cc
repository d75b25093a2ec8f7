#include "tests/simulation/sessions/honest_server.h"

#include <algorithm>
#include <type_traits>

#include "secure/secagg/check_lanes.h"
#include "secure/secagg/masking.h"
#include "tests/simulation/sessions/session_device.h"
#include "tests/support/wide_lanes.h"

namespace coterie::simulation {
namespace {

DeviceId id_of(uint32_t who) {
  DeviceId id;
  id.bytes[0] = static_cast<uint8_t>(who), id.bytes[1] = static_cast<uint8_t>(who >> 8);
  return id;
}

Error closed() { return Error(ErrorCode::round_closed, "the session is over"); }

}  // namespace

HonestServer::HonestServer(SessionWorld& world) : world_(world) {}

Digest HonestServer::context_for(uint32_t) const { return world_.parameters().context; }

void HonestServer::start() {
  const SessionOptions& options = world_.options();
  const bool waits_for_ever = options.mutant == SessionMutant::no_deadlines;
  const Millis for_ever(1'000'000'000);
  CohortSettings settings{.adverts_goal = options.adverts_goal,
                          .advertising_max = waits_for_ever ? for_ever : options.advertising_max,
                          .phase_max = waits_for_ever ? for_ever : options.phase_max,
                          .dropout_share = waits_for_ever ? 0 : options.parameters.dropout_share};
  // Delays may be as uneven as they like: where nothing goes wrong, nobody is given up for being slower than others.
  if (options.is_quiet()) settings.patience_min = options.phase_max;
  Result<CohortMachine> made = CohortMachine::make(
      options.parameters, settings, world_.prng().next(), [](const DeviceIdentity&) { return Status(); },
      world_.queue().now());
  COT_ASSERT(made.has_value());
  cohort_.emplace(std::move(*made));
  sum_.resize(secagg::masked_lane_count(options.parameters));
  if (!waits_for_ever) world_.queue().after(options.collecting_max, [this] { freeze(); });
  if (options.server_crash) {
    world_.queue().after(world_.some_delay(options.collecting_max), [this] {
      if (!is_over_) ++world_.oracle().verdict().crashes;
      end(Error(ErrorCode::round_closed, "the server was started anew while devices aggregated"));
    });
  }
  arm();
}

void HonestServer::tell(uint32_t who, const DeviceMessage& message, Reply reply) {
  if (is_over_) return reply(closed());
  if (const auto* update = std::get_if<MaskedUpdate>(&message)) return upload(who, *update, reply);
  const Status heard = std::visit(
      [&](const auto& m) -> Status {
        if constexpr (requires { m.lanes; }) return {};
        else return cohort_->receive(id_of(who), world_.signer(who).public_key(), m, world_.queue().now());
      },
      message);
  reply(heard ? Answer(Heard{}) : Answer(heard.error()));
  after();
}

void HonestServer::ask(uint32_t who, CohortQuestion question, Reply reply) {
  if (is_over_) return reply(closed());
  Result<CohortReply> answer = cohort_->ask(id_of(who), question, world_.queue().now());
  if (answer) {
    std::visit(
        [&](const auto& m) {
          if constexpr (std::is_same_v<std::decay_t<decltype(m)>, NotYet>) reply(m);
          else reply(ServerMessage(m));
        },
        *answer);
  } else {
    reply(answer.error());
  }
  after();
}

// ---- Masked updates

Status HonestServer::check(const MaskedUpdate& update) const {
  if (update.lanes.size() != update.head.lane_count || test::lanes_digest(update.lanes) != update.head.lanes) {
    return Error(ErrorCode::malformed, "the lanes are not those of the header");
  }
  std::vector<uint64_t> lanes = update.lanes;
  const auto is_in_range = [&]<typename Lane>(std::span<Lane> span) -> Status {
    return secagg::check_range<Lane>(world_.parameters(), span);
  };
  return test::with_lanes(secagg::lane_bits(world_.parameters()), lanes, is_in_range);
}

void HonestServer::upload(uint32_t who, const MaskedUpdate& update, const Reply& reply) {
  Status good = check(update);
  if (good) good = cohort_->input_arrived(id_of(who), update.head, world_.queue().now());
  after();
  if (!good) return reply(good.error());
  world_.queue().after(world_.options().store_delay, [this, who, update, reply] { accept(who, update, reply); });
}

// One transaction: it is in the sum, and its device is accepted; but not behind the freeze, and not twice.
void HonestServer::accept(uint32_t who, const MaskedUpdate& update, const Reply& reply) {
  if (is_over_) return reply(closed());
  if (const auto known = accepted_.find(who); known != accepted_.end()) {
    if (world_.options().mutant == SessionMutant::sums_twice) add(update);
    return reply(known->second == update.head ? Answer(Heard{}) : Answer(Error(ErrorCode::conflict, "another update")));
  }
  if (is_frozen_) return reply(closed());
  add(update);
  accepted_.emplace(who, update.head);
  if (world_.options().mutant != SessionMutant::forgets_input) {
    const Status known = cohort_->input_accepted(id_of(who), update.head, world_.queue().now());
    world_.oracle().trace(known.has_value());
  }
  reply(Heard{});
  after();
}

void HonestServer::add(const MaskedUpdate& update) {
  for (size_t lane = 0; lane < sum_.size(); ++lane) sum_[lane] += update.lanes[lane];
}

void HonestServer::freeze() {
  if (is_frozen_ || is_over_) return;
  is_frozen_ = true;
  std::vector<DeviceId> accepted;
  for (const auto& [who, head] : accepted_) accepted.push_back(id_of(who));
  cohort_->freeze(accepted, world_.queue().now());
  after();
}

// ---- The end

void HonestServer::after() {
  if (is_over_) return;
  cohort_->check();
  if (cohort_->failure()) return end(*cohort_->failure());
  if (cohort_->is_ready()) return open();
  const auto expected = cohort_->updates_expected();
  const bool all_here = expected && accepted_.size() >= *expected;
  if (!is_frozen_ && (all_here || accepted_.size() >= world_.options().updates_goal)) return freeze();
  arm();
}

void HonestServer::arm() {
  const std::optional<Instant> deadline = cohort_->next_deadline();
  if (!deadline || armed_ == deadline) return;
  armed_ = deadline;
  world_.queue().at(*deadline, [this] {
    if (is_over_) return;
    cohort_->time_passed(world_.queue().now());
    after();
  });
}

Result<std::vector<uint64_t>> HonestServer::unmask() {
  const secagg::SessionParameters& parameters = world_.parameters();
  const secagg::Server& session = cohort_->session();
  COT_ASSIGN(const secagg::OpenedMasks opened, session.opening().open());
  COT_ASSIGN(const MaskSum masks, secagg::to_mask_sum(parameters.suite, opened.masks));
  std::vector<uint64_t> lanes = sum_;
  const auto take_off = [&]<typename Lane>(std::span<Lane> span) -> Status {
    masks.apply(0, span);
    const secagg::SummedSession summed[] = {{session.session(), session.survivors().size()}};
    return secagg::verify_check_lanes<Lane>(parameters, summed, span.subspan(parameters.lane_count));
  };
  const Status right = test::with_lanes(secagg::lane_bits(parameters), lanes, take_off);
  if (world_.options().mutant != SessionMutant::no_check_lanes) COT_TRY(right);
  lanes.resize(parameters.lane_count);
  for (uint64_t& lane : lanes) lane &= test::ring_mask(parameters.ring_bits);
  return lanes;
}

void HonestServer::open() {
  is_over_ = true;
  const Result<std::vector<uint64_t>> sum = unmask();
  if (!sum) return world_.oracle().given_up(sum.error());
  SessionOracle::Updates survivors;
  for (uint32_t who = 0; who < world_.options().devices; ++who) {
    const auto place = cohort_->session().device_of(world_.signer(who).public_key());
    if (place && std::ranges::binary_search(cohort_->session().survivors(), *place)) {
      survivors.emplace(who, world_.device(who)->update());
    }
  }
  const bool all_counted =
      std::ranges::all_of(accepted_, [&](const auto& entry) { return survivors.contains(entry.first); });
  if (!all_counted || survivors.size() != accepted_.size()) {
    world_.oracle().problem(&SessionVerdict::wrong, "who has a receipt and who survived are not the same");
  }
  world_.oracle().released(*sum, survivors);
}

void HonestServer::end(const Error& error) {
  if (is_over_) return;
  is_over_ = true;
  world_.oracle().given_up(error);
}

}  // namespace coterie::simulation

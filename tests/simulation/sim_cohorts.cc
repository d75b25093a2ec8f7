#include "tests/simulation/sim_cohorts.h"

#include <algorithm>
#include <utility>

#include "fl_server/core/attempt_terms.h"

namespace coterie::simulation {
namespace {

constexpr Millis kHold{1'000};

Error no_session() { return Error(ErrorCode::round_closed, "secure aggregation: this attempt takes no more part"); }

Answer answer_of(const Result<CohortReply>& reply) {
  if (!reply) return reply.error();
  return std::visit(
      [](const auto& said) -> Answer {
        if constexpr (std::is_same_v<std::decay_t<decltype(said)>, NotYet>) return said;
        else return ServerMessage(said);
      },
      *reply);
}

// What the server's open_masks does with many threads.
Result<std::shared_ptr<SumMasks>> open_masks(const RoundCohorts& cohorts, const secagg::SessionParameters& parameters,
                                             Oracle& oracle) {
  COT_ASSIGN(MaskSum masks, MaskSum::make(parameters.suite));
  std::vector<secagg::SummedSession> summed;
  for (const secagg::Server* session : cohorts.sessions()) {
    COT_ASSIGN(const secagg::OpenedMasks opened, session->opening().open());
    if (!opened.blamed.empty()) oracle.problem(&Verdict::lost, "shares of honest devices are wrong");
    COT_ASSIGN(MaskSum own, secagg::to_mask_sum(parameters.suite, opened.masks));
    masks.take(std::move(own));
    summed.push_back({session->session(), session->survivors().size()});
  }
  return std::make_shared<SumMasks>(SumMasks{parameters, std::move(summed), std::move(masks)});
}

}  // namespace

Status SimCohorts::begin(const RoundNotice& notice, const AttemptRules& rules) {
  const AttemptTerms terms = terms_of(notice);
  COT_ASSERT(terms.session.has_value());
  const Instant now = world_.queue().now();
  const auto left = std::chrono::duration_cast<Millis>(rules.deadline - now);
  const RoundCohortsSettings settings{
      .cohort_count = rules.cohort_count,
      .adverts_goal = rules.adverts_goal,
      .adverts_enough = std::min(notice.goal_count, rules.adverts_goal),
      .cohort = {.advertising_max = std::max(left / 2, left - 2 * rules.cohort_phase_max),
                 .phase_max = rules.cohort_phase_max,
                 .dropout_share = notice.plan.privacy.dropout_share}};
  std::vector<uint64_t> ring_seeds(rules.cohort_count);
  std::ranges::generate(ring_seeds, [this] { return world_.prng().next(); });
  COT_ASSIGN(RoundCohorts machine,
             RoundCohorts::make(
                 *terms.session, settings, ring_seeds, [](const DeviceIdentity&) { return true; }, now));
  live_.emplace(notice.key, std::make_shared<Live>(Live{.machine = std::move(machine), .parameters = *terms.session}));
  return {};
}

void SimCohorts::end(const RoundKey& key) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  const std::shared_ptr<Live> live = found->second;
  live_.erase(found);
  for (const Question& question : live->held) question.reply(no_session());
}

// ---- Devices

void SimCohorts::exchange(const RoundKey& key, const DeviceId& device, const Bytes& public_key,
                          const std::optional<CohortMessage>& told, std::optional<CohortQuestion> asked, Reply reply) {
  const auto found = live_.find(key);
  if (found == live_.end()) return reply(no_session());
  Live& live = *found->second;
  const Instant now = world_.queue().now();
  const Status heard = told ? live.machine.receive(device, public_key, *told, now) : Status();
  if (!heard) {
    reply(heard.error());
  } else if (!asked) {
    reply(Heard{});
  } else {
    const Result<CohortReply> answer = live.machine.ask(device, *asked, now);
    if (answer && std::holds_alternative<NotYet>(*answer)) {
      live.held.push_back({device, *asked, now + kHold, std::move(reply)});
    } else {
      reply(answer_of(answer));
    }
  }
  after(key);
}

// The lanes that are added are those of the header that came first.
Status SimCohorts::arrived(const RoundKey& key, const DeviceId& device, const MaskedInput& input) {
  const auto found = live_.find(key);
  if (found == live_.end()) return no_session();
  Live& live = *found->second;
  const auto known = live.inputs.find(device);
  if (known != live.inputs.end() && !(known->second == input)) {
    return Error(ErrorCode::invalid_argument, "masked update: another header of this device came before");
  }
  const Status welcome = live.machine.input_arrived(device, input, world_.queue().now());
  if (welcome) live.inputs.emplace(device, input);
  after(key);
  return welcome;
}

// ---- The round

void SimCohorts::accepted(const RoundKey& key, const std::vector<DeviceId>& accepted) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  Live& live = *found->second;
  for (const DeviceId& device : accepted) {
    const auto input = live.inputs.find(device);
    if (input == live.inputs.end() || !live.accepted.insert(device).second) continue;
    (void)live.machine.input_accepted(device, input->second, world_.queue().now());
  }
  after(key);
}

void SimCohorts::freeze(const RoundKey& key, const std::vector<DeviceId>& accepted) {
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  found->second->is_frozen = true;
  found->second->machine.freeze(accepted, world_.queue().now());
  after(key);
}

void SimCohorts::finalize(uint64_t serial, const FinalizeRound& request, const std::vector<DeviceId>& accepted) {
  const RoundKey key = request.round.key;
  const auto found = live_.find(key);
  if (found == live_.end()) {
    return listener_.attempt_lost(key, "the scheduler was started anew while devices aggregated");
  }
  found->second->finalize.emplace(serial, request);
  freeze(key, accepted);
}

void SimCohorts::time_passed() {
  std::vector<RoundKey> keys;
  for (const auto& [key, live] : live_) keys.push_back(key);
  for (const RoundKey& key : keys) {
    if (const auto found = live_.find(key); found != live_.end()) {
      found->second->machine.time_passed(world_.queue().now());
      after(key);
    }
  }
}

std::optional<Instant> SimCohorts::next_deadline() const {
  std::optional<Instant> next;
  const auto consider = [&](Instant at) { next = next ? std::min(*next, at) : at; };
  for (const auto& [key, live] : live_) {
    if (const auto at = live->machine.next_deadline()) consider(*at);
    for (const Question& question : live->held) consider(question.until);
  }
  return next;
}

// Whatever the cohorts have come to. The listener may end them, so they are held here.
void SimCohorts::after(const RoundKey& key) {
  const std::shared_ptr<Live> live = live_.at(key);
  live->machine.check();
  answer_held(*live);
  if (const auto failure = live->machine.failure()) {
    if (live->is_frozen && !live->finalize) return;  // it is being claimed: finalize() comes here again
    end(key);
    return listener_.attempt_lost(key, "secure aggregation: " + failure->message());
  }
  if (const auto due = live->machine.inputs_due(); due && due != live->told_due) {
    live->told_due = due;
    listener_.updates_due(key, *due);
  }
  if (const auto expected = live->machine.updates_expected(); expected && !live->told_expected) {
    live->told_expected = true;
    listener_.updates_expected(key, *expected);
  }
  if (live->machine.is_ready() && live->finalize) {
    const auto [serial, request] = *std::exchange(live->finalize, std::nullopt);
    listener_.opened(serial, request, open_masks(live->machine, live->parameters, world_.oracle()));
  }
}

void SimCohorts::answer_held(Live& live) {
  const Instant now = world_.queue().now();
  uint32_t progress = 0;
  do {  // asking may end a phase whose time was up
    progress = live.machine.progress();
    for (Question& question : std::exchange(live.held, {})) {
      const Result<CohortReply> answer = live.machine.ask(question.device, question.what, now);
      const bool is_not_yet = answer && std::holds_alternative<NotYet>(*answer);
      if (is_not_yet && now < question.until) live.held.push_back(std::move(question));
      else question.reply(answer_of(answer));
    }
  } while (live.machine.progress() != progress);
}

}  // namespace coterie::simulation

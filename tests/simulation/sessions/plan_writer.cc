#include "tests/simulation/sessions/plan_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>

#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/signature.h"
#include "secure/identity/manifest.h"
#include "secure/secagg/graph_parameters.h"
#include "tests/simulation/sessions/opened_sums.h"
#include "tests/simulation/sessions/planned_device.h"

namespace coterie::simulation {
namespace {

using Members = std::vector<uint32_t>;

// A session that went as far as confirmations.
struct PlannedSession {
  uint32_t model = 0;
  Members survivors;  // honest ones
  Members asked_for;  // of them: whose shares may still come
  uint32_t shares = 0, threshold = 0;
  bool is_open = false;
};

class PlanWriter {
 public:
  PlanWriter(uint64_t seed, SessionMutant mutant)
      : seed_(seed), mutant_(mutant), prng_(Prng::derived(seed, 0x706c616e)) {
    key_ = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 1)));
  }

  SessionVerdict run() {
    const bool breaks_draws = mutant_ == SessionMutant::takes_any_share || mutant_ == SessionMutant::takes_any_attempt;
    const bool is_crowd = breaks_draws || (mutant_ == SessionMutant::none && prng_.chance(0.003));
    enroll(is_crowd ? 240 + static_cast<uint32_t>(prng_.below(30)) : 3 + static_cast<uint32_t>(prng_.below(7)));
    if (is_crowd) grind();
    else write_plans();
    judge();
    if (!verdict_.first_problem.empty())
      verdict_.first_problem = "seed " + std::to_string(seed_) + ": " + verdict_.first_problem;
    return verdict_;
  }

 private:
  void enroll(uint32_t count) {
    for (uint32_t who = 0; who < count; ++who) {
      PrivacyPolicy policy{.openings_max = 1};
      if (prng_.chance(0.75)) {
        policy.security_level_min = SecurityLevel::active;
        policy.cohort_min = 2 + static_cast<uint32_t>(prng_.below(3));
      }
      policy.keeps_level = prng_.chance(0.3);
      devices_.emplace_back(policy, mutant_, seed_ + who, key_->public_key());
    }
    known_.assign(kModels, OpenedSums(count));
  }

  // ---- Plans

  PrivacyRules draw_rules() {
    constexpr std::array kShares = {0.0, 0.05, 0.1, 0.2, kCorruptShareMax};
    PrivacyRules rules;
    if (prng_.chance(0.2)) return rules;
    rules.level = prng_.chance(0.15) ? SecurityLevel::masked : SecurityLevel::active;
    rules.cohort_min = 2 + static_cast<uint32_t>(prng_.below(5));
    rules.roster_max = prng_.chance(0.8) ? 19 : kRosterSizeMax;
    rules.corrupt_share = kShares[prng_.below(kShares.size())];
    rules.dropout_share = prng_.uniform(0, 0.4);
    rules.cipher_suite = 1;
    return rules;
  }

  // Signed, of a job as far as it is, or of its next round.
  Assignment assign(const PrivacyRules& rules, uint32_t job, uint32_t model, uint64_t version, Bytes& bytes) {
    Plan plan;
    plan.job = JobId("job-" + std::to_string(job));
    plan.update.value_count = 4;
    plan.update.fixed_point = FixedPointSpec::finest(8, 1000, 1000);
    plan.privacy = rules;
    bytes = encode(plan);
    Assignment assignment{.job = plan.job,
                          .round = {RoundId(1 + prng_.below(9)), Attempt(1 + static_cast<uint32_t>(prng_.below(4)))},
                          .model_version = ModelVersion(version),
                          .plan = content_digest(bytes),
                          .model = content_digest(as_bytes("model-" + std::to_string(model))),
                          .plan_bytes = static_cast<uint32_t>(bytes.size()),
                          .model_bytes = 7,
                          .not_after = now_ + Millis(3'600'000),
                          .ticket = Bytes(40, 9),
                          .signature = {}};
    COT_ASSERT(sign_manifest(assignment, *key_).has_value());
    return assignment;
  }

  // Those who go on under it.
  Members offer(const PrivacyRules& rules, uint32_t job, uint32_t model, uint64_t version, double share) {
    Bytes plan;
    const Assignment assignment = assign(rules, job, model, version, plan);
    Members members;
    for (uint32_t who = 0; who < devices_.size(); ++who) {
      if (!devices_[who].is_idle() || !prng_.chance(share)) continue;
      ++verdict_.plans;
      if (!devices_[who].takes_part(assignment, plan, now_)) {
        ++verdict_.refusals;
        continue;
      }
      note_level(who, job, rules.level);
      members.push_back(who);
    }
    return members;
  }

  void note_level(uint32_t who, uint32_t job, SecurityLevel level) {
    SecurityLevel& of_job = levels_[{who, job}];
    SecurityLevel& of_all = levels_[{who, kAllJobs}];
    const bool keeps_all = devices_[who].policy().keeps_level;
    if (level < of_job || (keeps_all && level < of_all)) {
      problem(&SessionVerdict::lowered, "device " + std::to_string(who) + " went on below an earlier level");
    }
    of_job = std::max(of_job, level);
    of_all = std::max(of_all, level);
  }

  void write_plans() {
    const uint32_t models = 1 + static_cast<uint32_t>(prng_.below(kModels));
    for (uint64_t steps = 40 + prng_.below(80); steps > 0; --steps) {
      now_ += Millis(1'000);
      if (prng_.chance(0.1)) devices_[prng_.below(devices_.size())].restart();
      if (sessions_.empty() || prng_.chance(0.3)) begin(static_cast<uint32_t>(prng_.below(models)));
      else go_on(static_cast<size_t>(prng_.below(sessions_.size())));
    }
  }

  void begin(uint32_t model) {
    const PrivacyRules rules = draw_rules();
    const auto job = static_cast<uint32_t>(prng_.below(3));
    versions_[job] += prng_.chance(0.3);
    const Members members = offer(rules, job, model, versions_[job], prng_.uniform(0.5, 1));
    if (rules.level >= SecurityLevel::active) return begin_session(rules, model, members);
    for (const uint32_t who : members) {  // at masked it lies about keys
      known_[model].add({{who}});
      devices_[who].ends(prng_.chance(0.7), now_);
    }
  }

  void begin_session(const PrivacyRules& rules, uint32_t model, const Members& members) {
    const auto honest = static_cast<uint32_t>(members.size());
    const auto corrupt = static_cast<uint32_t>(prng_.below(honest / 2 + 1));  // a third of all
    PlannedSession session{.model = model, .threshold = 2 * (honest + corrupt) / 3 + 1};
    const secagg::SessionParameters parameters{.level = rules.level,
                                               .survivors_min = rules.cohort_min,
                                               .corrupt_share = rules.corrupt_share,
                                               .dropout_share = rules.dropout_share,
                                               .lane_count = 4,
                                               .roster_max = rules.roster_max};
    if (shape_for(parameters, honest + corrupt)) {
      // Some are ended before their masked update has come, some vanish from the set.
      for (const uint32_t who : members) {
        if (prng_.chance(0.85)) session.survivors.push_back(who);
      }
    }
    session.shares = corrupt;
    session.asked_for = session.survivors;
    const size_t all = session.survivors.size() + corrupt;
    const bool is_confirmed = all >= session.threshold && all >= rules.cohort_min;
    for (const uint32_t who : members) {
      const bool goes_on = is_confirmed && std::ranges::binary_search(session.survivors, who);
      if (!goes_on) devices_[who].ends(false, now_);
    }
    if (is_confirmed) sessions_.push_back(std::move(session));
  }

  // One more device gives its shares, or hears that all is over.
  void go_on(size_t at) {
    PlannedSession& session = sessions_[at];
    if (session.asked_for.empty()) {
      sessions_.erase(sessions_.begin() + static_cast<ptrdiff_t>(at));
      return;
    }
    std::swap(session.asked_for[prng_.below(session.asked_for.size())], session.asked_for.back());
    PlannedDevice& device = devices_[session.asked_for.back()];
    session.asked_for.pop_back();
    COT_ASSERT(!device.is_idle());
    if (prng_.chance(0.2)) return device.ends(false, now_);
    device.opens(now_);
    if (prng_.chance(0.1)) device.restart();
    device.ends(prng_.chance(0.7), now_);
    if (++session.shares < session.threshold || std::exchange(session.is_open, true)) return;
    ++verdict_.opened_sums;
    known_[session.model].add(session.survivors);
  }

  // ---- Drawn holders: the server sees whom devices drew, and begins the round again until it likes them

  void grind() {
    constexpr uint64_t kAttempts = 7;
    for (uint64_t attempt = 0; attempt <= kAttempts; ++attempt) {
      now_ += Millis(60'000);
      PrivacyRules rules;
      while (rules.level < SecurityLevel::active) rules = draw_rules();
      rules.roster_max = kRosterSizeMax;
      rules.dropout_share = 0;
      const uint64_t version = 1 + attempt / kAttempts;
      draw_holders(rules, version, offer(rules, 0, 0, version, 1));
    }
  }

  void draw_holders(const PrivacyRules& rules, uint64_t version, const Members& members) {
    const auto honest = static_cast<uint32_t>(members.size());
    const uint32_t corrupt = honest / 9, size = honest + corrupt;  // a tenth
    // Not shape_for: whoever takes any share has no floor there either.
    const auto shape =
        secagg::sparse_graph({size, rules.corrupt_share, rules.dropout_share, secagg::Adversary::active_server});
    const bool is_drawn = size > kCompleteRosterMax && shape;
    std::vector<uint32_t> roster(size);
    for (const uint32_t who : members) {
      if (is_drawn) {
        std::iota(roster.begin(), roster.end(), 0u);
        uint32_t corrupt_holders = 0;
        for (uint32_t i = 0; i < shape->degree; ++i) {
          std::swap(roster[i], roster[i + prng_.below(size - i)]);
          corrupt_holders += roster[i] < corrupt;
        }
        // Corrupt holders give both kinds of shares, each honest one gives one.
        if (corrupt_holders + shape->degree >= 2 * shape->threshold) known_[0].add({{who}});
        if (++draws_[{who, version}] > devices_[who].policy().attempts_max) {
          problem(&SessionVerdict::ground, "device " + std::to_string(who) + " drew holders again and again");
        }
      }
      devices_[who].ends(false, now_);
    }
  }

  // ---- The oracle

  void judge() {
    for (uint32_t model = 0; model < kModels; ++model) {
      for (uint32_t who = 0; who < devices_.size(); ++who) {
        if (devices_[who].policy().security_level_min < SecurityLevel::active || !known_[model].tells(who)) continue;
        problem(&SessionVerdict::recovered,
                "the update of device " + std::to_string(who) + " follows from what is known");
      }
    }
    verdict_.campaigns = 1;
  }

  void problem(uint64_t SessionVerdict::*kind, const std::string& what) {
    ++(verdict_.*kind);
    if (verdict_.first_problem.empty()) verdict_.first_problem = what;
  }

  static constexpr uint32_t kModels = 2, kAllJobs = UINT32_MAX;

  uint64_t seed_;
  SessionMutant mutant_;
  Prng prng_;
  std::unique_ptr<Signer> key_;
  WallTime now_{};
  std::vector<PlannedDevice> devices_;
  std::vector<OpenedSums> known_;  // by model
  std::vector<PlannedSession> sessions_;
  std::map<uint32_t, uint64_t> versions_;                          // by job
  std::map<std::pair<uint32_t, uint32_t>, SecurityLevel> levels_;  // by device and job
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> draws_;        // by device and round
  SessionVerdict verdict_;
};

}  // namespace

SessionVerdict simulate_plans(uint64_t seed, SessionMutant mutant) { return PlanWriter(seed, mutant).run(); }

bool is_of_plans(SessionMutant mutant) {
  switch (mutant) {
    case SessionMutant::takes_any_share:
    case SessionMutant::takes_any_attempt:
    case SessionMutant::opens_again:
    case SessionMutant::counts_afterwards:
    case SessionMutant::takes_any_level:
    case SessionMutant::forgets_level: return true;
    default: return false;
  }
}

}  // namespace coterie::simulation

// A coordinator's machine under any order of what parties ask for, lose and wait for, and of its own ends and begins.
// check() after each event; whoever is answered for the last time, or closed, hears nothing more.
#include <map>
#include <memory>
#include <set>

#include "base/assert.h"
#include "secure/crypto/signature.h"
#include "tests/fuzz/event_bytes.h"
#include "vertical/coordinator/coordinator_machine.h"

namespace {

using namespace coterie;
using namespace coterie::vertical;

constexpr int kEventsMax = 300;

// Job byte: the parties are always the same, and one more of job c.
Result<JobTerms> read_terms(std::string_view text) {
  if (text.size() != 1) return Error(ErrorCode::malformed, "no manifest");
  JobTerms terms{.job = {}, .manifest = {}, .parties = {"label", "feature"}};
  terms.job[0] = static_cast<uint8_t>(text[0]);
  if (text[0] == 'c') terms.parties.push_back("third");
  return terms;
}

struct Somebody {
  std::unique_ptr<Signer> signer;
  PeerIdentity identity;
};

Somebody somebody(const std::string& name) {
  Somebody made{.signer = *make_signer(KeyAlgorithm::p256, generate_secret(KeyAlgorithm::p256)), .identity = {}};
  made.identity = {.names = {name}, .algorithm = KeyAlgorithm::p256, .public_key = made.signer->public_key()};
  return made;
}

class World {
 public:
  explicit World(test::EventBytes& bytes) : bytes_(bytes), machine_(limits(), read_terms, {}, {"operator"}) {
    take(machine_.begin(now_));
  }

  void step() {
    switch (bytes_.below(8)) {
      case 0: {  // the coordinator is killed
        std::vector<JobRecord> records;
        for (const auto& [job, record] : stored_) records.push_back(record);
        open_.clear();
        machine_ = CoordinatorMachine(limits(), read_terms, std::move(records), {"operator"});
        take(machine_.begin(now_));
        break;
      }
      case 1:
        now_.instant += Millis(1 + 40 * bytes_.below(64));
        take(machine_.advance(now_));
        COT_ASSERT(!machine_.next_deadline() || *machine_.next_deadline() > now_.instant);
        break;
      case 2:
        if (const ConnectionId one = some(); one != 0) {
          open_.erase(one);
          take(machine_.closed(one, now_));
        }
        break;
      case 3:
        if (const ConnectionId one = some(); one != 0) take(machine_.spoke_early(one, now_));
        break;
      case 4:
        if (const ConnectionId one = some(); one != 0) machine_.relayed(one, bytes_.next(), now_);
        break;
      default: ask(); break;
    }
    machine_.check();
  }

 private:
  static CoordinatorLimits limits() {
    return {.asking_max = 2,
            .waiting_max = 3,
            .pairs_max = 1,
            .jobs_max = 2,
            .party_jobs_max = 2,
            .ask_time = Millis(100),
            .wait_time = Millis(500),
            .idle_time = Millis(700),
            .report_time = Millis(300),
            .resume_time = Millis(900)};
  }
  ConnectionId some() {
    if (open_.empty()) return 0;
    auto one = open_.begin();
    std::advance(one, bytes_.below(open_.size()));
    return *one;
  }

  void ask() {
    static const std::array<Somebody, 5> people = {somebody("label"), somebody("feature"), somebody("third"),
                                                   somebody("operator"), somebody("stranger")};
    const Somebody& who = people[std::min<size_t>(4, bytes_.below(9) / 2)];
    const ConnectionId connection = ++last_;
    open_.insert(connection);
    take(machine_.opened(connection, now_));
    if (!open_.contains(connection) || bytes_.one_in(16)) return;
    Request request{.kind = static_cast<RequestKind>(1 + bytes_.below(11)), .job = {}};
    request.job[0] = static_cast<uint8_t>('a' + bytes_.below(3));
    request.manifest = std::string(1, static_cast<char>(request.job[0]));
    if (request.job[0] == 'c' && !bytes_.one_in(16)) request.peer = bytes_.one_in(4) ? kMatcher : bytes_.below(4);
    request.is_done = bytes_.one_in(2);
    request.reason = "lost";
    request.survey = static_cast<SurveyOf>(bytes_.below(3));
    request.progress = {.stage = kJobStages[bytes_.below(3)], .is_over = bytes_.one_in(2)};
    request.shape = {.rows = 100, .label_columns = 1, .feature_columns = 1, .batch = 16, .epochs = 1 + bytes_.below(2)};
    if (request.kind == RequestKind::approve) {
      request.signature = *who.signer->sign(approval_message(request.job, request.digest));
    }
    take(machine_.asked(connection, who.identity, request, now_));
  }

  void take(const CoordinatorEffects& effects) {
    for (const JobRecord& record : effects.store) stored_[record.job] = record;
    for (const VerticalJobId& job : effects.remove) stored_.erase(job);
    for (const auto& answer : effects.answers) {
      COT_ASSERT(open_.contains(answer.to));
      if (answer.is_last) open_.erase(answer.to);
    }
    for (const auto& pair : effects.pairs) COT_ASSERT(open_.contains(pair.first) && open_.contains(pair.second));
    for (const auto& matching : effects.matchings) {
      for (const ConnectionId party : matching.parties) COT_ASSERT(open_.contains(party));
    }
    for (const auto& deal : effects.deals) COT_ASSERT(open_.contains(deal.label) && open_.contains(deal.feature));
    for (const ConnectionId connection : effects.closes) COT_ASSERT(open_.erase(connection) == 1);
    for (const auto& [job, record] : stored_) {
      const JobRecord* const known = machine_.find(job);
      COT_ASSERT(known != nullptr && known->state == record.state && known->reason == record.reason);
    }
  }

  test::EventBytes& bytes_;
  Now now_{};
  ConnectionId last_ = 0;
  std::set<ConnectionId> open_;  // not closed, and not answered for the last time
  std::map<VerticalJobId, JobRecord> stored_;
  CoordinatorMachine machine_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::EventBytes bytes(data, size);
  World world(bytes);
  for (int i = 0; i < kEventsMax && !bytes.is_over(); ++i) world.step();
  return 0;
}

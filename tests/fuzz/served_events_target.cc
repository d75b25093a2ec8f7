// Any order of rounds, answers of a store and words of nodes that a leader may bring its served rounds: their
// invariants hold after each step, a round is served once what must be known of it is known, nobody serves what was
// stopped, and once all is answered each round that collects is served.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "fl_server/core/served_rounds.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

class Driver {
 public:
  explicit Driver(test::EventBytes bytes) : bytes_(bytes) {}

  void run() {
    while (!bytes_.is_over()) choose();
    // Behind the end the store answers.
    for (int turn = 0; turn < 10; ++turn) {
      while (!questions_.empty()) answer(false);
      if (const auto wake = served_.next_deadline()) pass(*wake - now_);
    }
    COT_ASSERT(questions_.empty() && served_.next_deadline() == std::nullopt);
    for (const auto& [key, notice] : published_) {
      COT_ASSERT(!served_.is_waiting(key));
      if (notice.state == RoundState::collecting) COT_ASSERT(begun_.contains(key));
    }
    COT_ASSERT(published_.empty() == served_.is_empty());
  }

 private:
  void choose() {
    switch (bytes_.below(10)) {
      case 0:
      case 1:
      case 2: return publish();
      case 3: return withdraw();
      case 4: return step(PoolHeard{some_population(), bytes_.next()});
      case 5: return step(NodesCounted{bytes_.below(5)});
      case 6: return step(TicketsHeard{some_key(), bytes_.next()});
      case 7:
        if (bytes_.one_in(4)) return step(ClockWasSet{});
        return step(AcceptedHeard{some_key(), bytes_.next()});
      case 8: return pass(Millis(int64_t{bytes_.next()} * 4));
      default:
        if (!questions_.empty()) answer(bytes_.one_in(3));
    }
  }

  Population some_population() { return Population(bytes_.one_in(3) ? "q" : "p"); }
  RoundKey some_key() {
    if (published_.empty() || bytes_.one_in(3)) return {RoundId(1 + bytes_.below(4)), Attempt(1 + bytes_.below(8))};
    auto round = published_.begin();
    std::advance(round, bytes_.below(published_.size()));
    return round->first;
  }

  void publish() {
    PublishRound round;
    round.notice.key = some_key();
    round.notice.job = JobId(round.notice.key.round.value() % 2 == 0 ? "j" : "k");
    round.notice.population = some_population();
    constexpr RoundState kStates[] = {RoundState::selecting, RoundState::collecting, RoundState::collecting,
                                      RoundState::frozen, RoundState::finalizing};
    // An attempt goes forward alone.
    RoundState& newest = newest_.try_emplace(round.notice.key, RoundState::selecting).first->second;
    newest = std::max(newest, kStates[bytes_.below(std::size(kStates))]);
    round.notice.state = newest;
    std::erase_if(published_, [&](const auto& entry) {
      return entry.second.job == round.notice.job && entry.first != round.notice.key;
    });
    published_[round.notice.key] = round.notice;
    step(round);
  }
  void withdraw() {
    const RoundKey key = some_key();
    published_.erase(key);
    step(WithdrawRound{key});
  }

  void answer(bool fails) {
    const size_t which = bytes_.below(questions_.size());
    const AskBeforeServing asked = questions_[which];
    questions_.erase(questions_.begin() + static_cast<ptrdiff_t>(which));
    Result<ReadyRound> ready = ReadyRound{bytes_.one_in(2), {}, 7};
    if (fails) ready = Error(ErrorCode::unavailable, "no answer");
    step(RoundReadied{asked.serial, asked.notice.key, ready});
    if (bytes_.one_in(4)) step(RoundReadied{asked.serial, asked.notice.key, ready});  // and once more
  }

  void pass(Millis time) {
    now_ += time;
    step(ServingTime{});
    if (const auto wake = served_.next_deadline()) COT_ASSERT(*wake > now_);
  }

  void step(const ServingEvent& event) {
    const ServingEffects effects = served_.step(event, now_);
    served_.check();
    for (const ServingEffect& effect : effects) std::visit([this](const auto& e) { perform(e); }, effect);
    for (const RoundKey& key : begun_) COT_ASSERT(published_.contains(key));
  }

  void perform(const TellJob&) {}
  void perform(const AskBeforeServing& e) {
    COT_ASSERT(serials_.insert(e.serial).second && published_.contains(e.notice.key));
    questions_.push_back(e);
  }
  void perform(const ServePublished& e) {
    const RoundNotice& notice = e.round.notice;
    COT_ASSERT(must_find(published_, notice.key, "what is served was published").state == notice.state);
    COT_ASSERT(notice.state != RoundState::selecting);
    if (e.begins) COT_ASSERT(notice.state == RoundState::collecting && begun_.insert(notice.key).second);
    COT_ASSERT(begun_.contains(notice.key) || notice.state != RoundState::collecting);
    COT_ASSERT(e.begins || !e.has_accepted);
    COT_ASSERT(!begun_.contains(notice.key) || notice.assignment.plan_bytes == 7);  // it keeps the plan it began with
  }
  void perform(const SignAgain& e) { COT_ASSERT(published_.contains(e.notice.key)); }
  void perform(const StopServing& e) { begun_.erase(e.key); }
  void perform(const NoteUpdates& e) { COT_ASSERT(published_.contains(e.key)); }

  test::EventBytes bytes_;
  ServedRounds served_;
  Instant now_{};
  std::map<RoundKey, RoundNotice> published_;
  std::map<RoundKey, RoundState> newest_;
  std::set<RoundKey> begun_;  // that devices are asked for
  std::set<uint64_t> serials_;
  std::vector<AskBeforeServing> questions_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}

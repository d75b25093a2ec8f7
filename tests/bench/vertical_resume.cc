// coterie-bench-vertical-resume: what it takes that a vertical job can go on where it was cut off. Both parties'
// machines with a journal each on the disk of temporary files; the time in the journals beside that in the machines,
// and how long what is cut off before its last unit takes to end.
//
//   {"bench":"vertical_resume","stage":"matching", ...}  50,000 with 50,000 ids in buckets of 16,384
//   {"bench":"vertical_resume","stage":"trees", ...}     two trees of depth 3 on 5,000 rows, 10 + 30 columns
//
// Times are the wall's: a journal waits for the disk.
#include <chrono>
#include <vector>

#include "secure/he/paillier.h"
#include "tests/bench/vertical_bench.h"
#include "tests/support/temporary_directory.h"
#include "tools/vertical/journaled_stages.h"

namespace coterie::bench {
namespace {

using namespace coterie::vertical;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What adds the time of its calls to a sum.
template <typename Call>
auto timed(double& sum, Call call) {
  const double begin = seconds();
  auto result = call();
  sum += seconds() - begin;
  return result;
}

// A stage without its journal, or with it.
class Timed final : public Stage {
 public:
  Timed(Stage& stage, double& sum) : stage_(stage), sum_(sum) {}
  std::optional<Message> next() override {
    return timed(sum_, [&] { return stage_.next(); });
  }
  Status receive(const Message& message) override {
    return timed(sum_, [&] { return stage_.receive(message); });
  }
  bool done() const override { return stage_.done(); }

 private:
  Stage& stage_;
  double& sum_;
};

class TimedMatching final : public Matching {
 public:
  TimedMatching(Matching& matching, double& sum) : matching_(matching), timed_(matching, sum) {}
  std::optional<Message> next() override { return timed_.next(); }
  Status receive(const Message& message) override { return timed_.receive(message); }
  bool done() const override { return matching_.done(); }
  std::optional<MatchedBuckets> take_checkpoint() override { return matching_.take_checkpoint(); }
  const std::vector<uint32_t>& matched_rows() const override { return matching_.matched_rows(); }
  const PsiOutcome& outcome() const override { return matching_.outcome(); }
  uint64_t peer_items() const override { return matching_.peer_items(); }

 private:
  Matching& matching_;
  Timed timed_;
};

// What JournaledTrees asks of a training.
template <typename Training>
class TimedTraining {
 public:
  TimedTraining(Training& training, double& sum) : training_(training), timed_(training, sum) {}
  std::optional<Message> next() { return timed_.next(); }
  Status receive(const Message& message) { return timed_.receive(message); }
  bool done() const { return training_.done(); }
  auto take_checkpoint() { return training_.take_checkpoint(); }
  auto take_grown() { return training_.take_grown(); }

 private:
  Training& training_;
  Timed timed_;
};

struct Spent {
  double machines = 0, with_journals = 0;
  uint32_t units = 0;
};

// Both parties until the end; what they spend is in what the stages were made with.
void run_timed(Stage& label, Stage& feature, double& sum) {
  Timed one(label, sum), other(feature, sum);
  std::array<PartyWork, 2> work;
  run_pair({&one, &other}, work);
}

class Journals {
 public:
  PartyJournal open(size_t party) const {
    return value_of(PartyJournal::open(directory_ / std::to_string(party), {.job = {1}, .manifest = {}, .inputs = {}}));
  }

 private:
  test::TemporaryDirectory directory_;
};

std::vector<std::string> ids_from(uint32_t first, uint32_t count) {
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < count; ++i) ids.push_back("customer-" + std::to_string(10'000'000 + first + i));
  return ids;
}

Spent match(const Journals& journals, uint32_t behind) {
  constexpr uint32_t kItems = 50'000;
  PsiSettings settings;
  settings.salt.fill(7);
  settings.bucket_items = 16'384;
  PartyJournal label_journal = journals.open(0), feature_journal = journals.open(1);
  const KeptBuckets label_from = value_of(label_journal.buckets_behind(behind));
  const KeptBuckets feature_from = value_of(feature_journal.buckets_behind(behind));
  Spent spent;
  const auto ids = [](uint32_t first) { return value_of(IdSet::make(ids_from(first, kItems), Duplicates::refuse)); };
  const auto label = value_of(start_label_matching(ids(0), settings, 1, seed_of(0), label_from.matched));
  const auto feature = value_of(start_feature_matching(ids(kItems / 2), settings, 0, seed_of(1), feature_from.matched));
  TimedMatching label_timed(*label, spent.machines), feature_timed(*feature, spent.machines);
  JournaledMatching one(label_timed, label_from.heard, label_journal);
  JournaledMatching other(feature_timed, feature_from.heard, feature_journal);
  run_timed(one, other, spent.with_journals);
  if (label->matched_rows().size() != kItems / 2) std::abort();
  spent.units = label_journal.position().buckets.back().unit + 1;
  return spent;
}

BinnedColumns binned(uint64_t seed, uint32_t rows, uint32_t columns) {
  Prng prng(seed);
  std::vector<std::vector<float>> values(columns, std::vector<float>(rows));
  for (auto& column : values) {
    for (float& value : column) value = static_cast<float>(prng.normal());
  }
  return value_of(bin_columns(values, 32));
}

Spent train(const Journals& journals, uint32_t behind) {
  constexpr uint32_t kRows = 5'000;
  TreeSettings settings;
  settings.rounds = 2;
  settings.depth = 3;
  std::vector<float> labels;
  for (uint32_t row = 0; row < kRows; ++row) labels.push_back(row % 3 == 0 ? 1 : 0);
  PartyJournal label_journal = journals.open(0), feature_journal = journals.open(1);
  LabelTreeCheckpoint label_from;
  FeatureTreeCheckpoint feature_from;
  if (behind > 0) {
    label_from = value_of(
        read_label_tree_checkpoint(label_journal.checkpoint(behind)->bytes, value_of(label_journal.grown()), kRows));
    feature_from = value_of(
        read_feature_tree_checkpoint(feature_journal.checkpoint(behind)->bytes, value_of(feature_journal.grown())));
  }
  Spent spent;
  const auto label = value_of(LabelTraining::start(binned(1, kRows, 10), labels, settings, {1},
                                                   make_paillier_key(PaillierBits::k2048, seed_of(3)), label_from));
  const auto feature =
      value_of(FeatureTraining::start(binned(2, kRows, 30), settings, seed_of(4), paillier_cipher, feature_from));
  TimedTraining label_timed(*label, spent.machines);
  TimedTraining feature_timed(*feature, spent.machines);
  JournaledTrees one(label_timed, label_journal);
  JournaledTrees other(feature_timed, feature_journal);
  run_timed(one, other, spent.with_journals);
  spent.units = settings.trees() * settings.depth;
  return spent;
}

void measure(const char* stage, Spent (*run)(const Journals&, uint32_t behind)) {
  const Journals journals;
  const Spent whole = run(journals, 0);
  const Spent resumed = run(journals, whole.units - 1);
  std::printf(
      "{\"bench\":\"vertical_resume\",\"stage\":\"%s\",\"units\":%u,\"machines_s\":%.3f,\"journals_s\":%.4f,"
      "\"last_unit_s\":%.3f}\n",
      stage, whole.units, whole.machines, whole.with_journals - whole.machines, resumed.machines);
}

}  // namespace
}  // namespace coterie::bench

int main() {
  coterie::bench::measure("matching", coterie::bench::match);
  coterie::bench::measure("trees", coterie::bench::train);
}

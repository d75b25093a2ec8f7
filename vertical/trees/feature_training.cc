#include <algorithm>
#include <deque>
#include <numeric>
#include <string>
#include <utility>

#include "secure/crypto/digest.h"
#include "secure/crypto/hkdf.h"
#include "vertical/trees/frontier.h"
#include "vertical/trees/gradient_sample.h"
#include "vertical/trees/gradients.h"
#include "vertical/trees/left_sums.h"
#include "vertical/trees/secret_order.h"
#include "vertical/trees/settings_wire.h"
#include "vertical/trees/train_trees.h"
#include "vertical/trees/tree_messages.h"

namespace coterie::vertical {
namespace {

constexpr PartyIndex kLabelParty = 0;

class FeatureMachine : public FeatureTraining {
 public:
  FeatureMachine(BinnedColumns columns, TreeSettings settings, Secret<32> seed, CipherMaker make_cipher,
                 FeatureTreeCheckpoint from, Frontier frontier)
      : columns_(std::move(columns)),
        candidates_(candidates_of(columns_)),
        seed_(std::move(seed)),
        make_cipher_(make_cipher),
        terms_(columns_.rows),
        frontier_(std::move(frontier)) {
    model_.settings = settings;
    model_.columns = columns_.columns();
    if (!settings.goss) {
      sampled_.resize(columns_.rows);
      std::iota(sampled_.begin(), sampled_.end(), 0u);
    }
    if (settings.label_party_first) model_.trees.resize(settings.classes, Tree(1));
    for (uint32_t number = 0; number < model_.trees.size() && from.model.trees.empty(); ++number) {
      grown_.push_back({.number = number, .tree = model_.trees[number], .levels = {}});
    }
    if (!from.model.trees.empty()) {
      model_.trees = std::move(from.model.trees);
      model_.shape = from.model.shape;
      levels_ = std::move(from.levels);
      if (!levels_.empty()) enter_tree();
    }
  }

  std::optional<Message> next() override {
    if (outbox_.empty() && !to_compute_.empty()) {
      send_splits(to_compute_.front());
      to_compute_.pop_front();
    }
    if (outbox_.empty()) return std::nullopt;
    Message message = std::move(outbox_.front());
    outbox_.pop_front();
    return message;
  }

  Status receive(const Message& message) override {
    // While sums are still to be sent nothing is due to come: a message now would be of another turn.
    if (message.peer != kLabelParty || done() || !to_compute_.empty()) {
      return unexpected_peer(message);
    }
    if (!cipher_) return take_hello(message);
    if (sampled_.empty()) return take_sample(message);
    if (arrived_ < sampled_.size()) return take_gradients(message);
    if (message.kind == static_cast<uint16_t>(TreeMessage::choice)) return take_choice(message);
    return take_level(message);
  }

  bool done() const override {
    const bool nothing_to_do = model_.trees.size() == model_.settings.trees() && !in_tree_;
    return nothing_to_do && cipher_ != nullptr && outbox_.empty();
  }
  const FeatureTreeModel& model() const override { return model_; }
  std::optional<FeatureTreeCheckpoint> take_checkpoint() override { return std::exchange(checkpoint_, std::nullopt); }
  std::vector<GrownTree> take_grown() override { return std::exchange(grown_, {}); }
  uint32_t trees_done() const override { return static_cast<uint32_t>(model_.trees.size()) - (in_tree_ ? 1 : 0); }

 private:
  uint32_t tree() const { return static_cast<uint32_t>(model_.trees.size()) - (in_tree_ ? 1 : 0); }

  Status take_hello(const Message& message) {
    COT_TRY(expect_kind(message, TreeMessage::hello));
    WireReader reader(message.payload);
    const uint32_t version = reader.u32();
    const TreeSettings settings = read_settings(reader);
    const uint32_t rows = reader.u32();
    const uint32_t bits = reader.u32();
    if (!reader.ok()) return Error(ErrorCode::malformed, "trees: hello ends before its numbers");
    if (version != kTreeProtocolVersion) {
      return Error(ErrorCode::unsupported_version, "trees: the label party speaks version " + std::to_string(version) +
                                                       ", expected " + std::to_string(kTreeProtocolVersion));
    }
    // This party's owner approved settings, among them how much is told (depth, bins). Others are not run.
    if (!(settings == model_.settings)) {
      return Error(ErrorCode::conflict, "trees: the label party has other settings than this party has approved");
    }
    COT_TRY(expect_number("hello", "rows", rows, columns_.rows));
    COT_TRY(expect_number("hello", "bits of a sum", bits,
                          static_cast<uint32_t>(sum_bits(settings.objective, columns_.rows))));
    COT_ASSIGN(cipher_, make_cipher_(reader.rest(), hkdf<32>({}, seed_.reveal(), as_bytes("coterie tree sums"))));
    packing_.emplace(bits, cipher_->plaintext_bits());
    WireWriter writer;
    writer.u32(static_cast<uint32_t>(candidates_.size()));
    outbox_.push_back(tree_message(kLabelParty, TreeMessage::ready, writer));
    return {};
  }

  Status take_sample(const Message& message) {
    COT_TRY(expect_kind(message, TreeMessage::sample));
    WireReader reader(message.payload);
    COT_TRY(expect_number("sample", "tree", reader.u32(), tree()));
    const ByteView bitmap = reader.rest();
    if (!reader.ok() || !is_bitmap_of(bitmap, columns_.rows)) {
      return Error(ErrorCode::malformed, "trees: a sample has " + std::to_string(bitmap.size()) +
                                             " bytes or bits behind its rows, expected a bit for each of " +
                                             std::to_string(columns_.rows) + " rows");
    }
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < columns_.rows; ++row) {
      if (bit_of(bitmap, row)) rows.push_back(row);
    }
    // As many as was approved: with fewer the sums would be of fewer people.
    COT_TRY(expect_number("sample", "rows", static_cast<uint32_t>(rows.size()),
                          sample_size(*model_.settings.goss, columns_.rows).rows()));
    sampled_ = std::move(rows);
    return {};
  }

  Status take_gradients(const Message& message) {
    COT_TRY(expect_kind(message, TreeMessage::gradients));
    WireReader reader(message.payload);
    COT_TRY(expect_number("gradients", "tree", reader.u32(), tree()));
    COT_TRY(expect_number("gradients", "first row", reader.u32(), arrived_));
    COT_ASSIGN(std::vector<CiphertextPtr> terms, cipher_->read(reader.rest()));
    const size_t missing = sampled_.size() - arrived_;
    if (!reader.ok() || terms.empty() || terms.size() > missing) {
      return Error(ErrorCode::malformed, "trees: gradients of " + std::to_string(terms.size()) +
                                             " rows, expected 1 to " + std::to_string(missing));
    }
    for (CiphertextPtr& term : terms) terms_[sampled_[arrived_++]] = std::move(term);
    if (arrived_ < sampled_.size()) return {};
    // Another order in each tree: the label party learns which numbers were best, and not which columns they are of.
    order_ = secret_order(seed_, "coterie tree candidates", tree(), static_cast<uint32_t>(candidates_.size()));
    if (!in_tree_) {
      model_.trees.emplace_back(1);
      frontier_ = Frontier(columns_.rows);
      enter_tree();
    }
    compute_frontier();
    return {};
  }

  // Behind those of its levels that are done: none, or what a checkpoint has.
  void enter_tree() {
    in_tree_ = true;
    level_ = static_cast<uint32_t>(levels_.size());
    shape_ = shape_of(model_.shape, tree(), levels_);
    own_.assign(frontier_.nodes().size(), {});
  }

  void compute_frontier() {
    for (const size_t node : frontier_.computed()) to_compute_.push_back(node);
  }

  // The sums left of all candidates of one node, packed, under fresh randomness.
  void send_splits(size_t position) {
    const FrontierNode& node = frontier_.nodes()[position];
    const std::vector<CiphertextPtr> sums =
        left_sums<CipherSums>(columns_, candidates_, node.rows, terms_, CipherSums{*cipher_});
    const size_t pairs_max = packing_->pairs_max();
    const size_t count = (sums.size() + pairs_max - 1) / pairs_max;
    const size_t bytes = cipher_->ciphertext_bytes();
    for (size_t first = 0; first < count;) {
      const size_t end = std::min(count, first + ciphertexts_of_message(bytes));
      const std::span<const uint32_t> order =
          std::span(order_).subspan(first * pairs_max, std::min(end * pairs_max, sums.size()) - first * pairs_max);
      WireWriter writer;
      writer.u32(tree());
      writer.u32(node.id);
      writer.u32(static_cast<uint32_t>(first));
      Bytes ciphertext(bytes);
      for (const CiphertextPtr& packed : packed_sums(sums, order)) {
        cipher_->write(*packed, ciphertext);
        writer.raw(ciphertext);
      }
      outbox_.push_back(tree_message(kLabelParty, TreeMessage::splits, writer));
      first = end;
    }
  }

  // The sums of `order`, as many in one ciphertext as fit, under fresh randomness.
  std::vector<CiphertextPtr> packed_sums(const std::vector<CiphertextPtr>& sums, std::span<const uint32_t> order) {
    const size_t pairs_max = packing_->pairs_max();
    std::vector<CiphertextPtr> packed((order.size() + pairs_max - 1) / pairs_max);
    for (CiphertextPtr& one : packed) one = cipher_->zero();
    // Horner's rule, from the highest pair down, for all ciphertexts at once.
    for (size_t k = pairs_max; k-- > 0;) {
      std::vector<Ciphertext*> to_shift;
      std::vector<CiphertextAddition> additions;
      for (size_t i = 0; i < packed.size(); ++i) {
        const size_t place = i * pairs_max + k;
        if (place + 1 < order.size() && k + 1 < pairs_max) to_shift.push_back(packed[i].get());
        if (place < order.size() && sums[order[place]])
          additions.push_back({packed[i].get(), sums[order[place]].get()});
      }
      cipher_->shift_left_each(to_shift, packing_->pair_bits());
      cipher_->add_each(additions);
    }
    std::vector<Ciphertext*> all;
    for (const CiphertextPtr& one : packed) all.push_back(one.get());
    cipher_->rerandomize_each(all);
    return packed;
  }

  Status take_choice(const Message& message) {
    COT_TRY(expect_kind(message, TreeMessage::choice));
    WireReader reader(message.payload);
    COT_TRY(expect_number("choice", "tree", reader.u32(), tree()));
    const uint32_t id = reader.u32();
    const auto node = std::ranges::find(frontier_.nodes(), id, &FrontierNode::id);
    const size_t count = reader.rest().size() / 4;
    if (!reader.ok() || node == frontier_.nodes().end() || count == 0 || reader.rest().size() % 4 != 0) {
      return Error(ErrorCode::malformed, "trees: a choice of " + std::to_string(count) + " candidates for node " +
                                             std::to_string(id) + ", which is no node of this level or has none");
    }
    const auto position = static_cast<size_t>(node - frontier_.nodes().begin());
    // A second choice for a node would have this party tell the rows of a second candidate.
    if (!own_[position].empty()) {
      return Error(ErrorCode::malformed, "trees: a second choice for node " + std::to_string(id));
    }
    uint32_t best = UINT32_MAX;
    while (!reader.ended()) {
      const uint32_t number = reader.u32();
      if (number >= order_.size()) {
        return Error(ErrorCode::malformed, "trees: a choice of candidate " + std::to_string(number) + ", there are " +
                                               std::to_string(order_.size()));
      }
      // The label party sends all numbers that are tied. This party takes the first in its own order, as XGBoost would,
      // without saying which it was.
      best = std::min(best, order_[number]);
    }
    const Candidate& candidate = candidates_[best];
    Bitmap left(bitmap_bytes(node->rows.size()));
    for (size_t k = 0; k < node->rows.size(); ++k) {
      if (goes_left(columns_, candidate, node->rows[k])) set_bit(left, k);
    }
    TreeNode& split = model_.trees.back()[id];
    split.kind = TreeNode::Kind::own_split;
    split.column = candidate.column;
    split.threshold = threshold_of(columns_, candidate);
    split.missing_left = candidate.missing_left;
    WireWriter writer;
    writer.u32(tree());
    writer.u32(id);
    writer.raw(left);
    outbox_.push_back(tree_message(kLabelParty, TreeMessage::partition, writer));
    own_[position] = std::move(left);
    return {};
  }

  Status take_level(const Message& message) {
    COT_TRY(expect_kind(message, TreeMessage::level));
    WireReader reader(message.payload);
    COT_TRY(expect_number("level", "tree", reader.u32(), tree()));
    COT_TRY(expect_number("level", "level", reader.u32(), level_));
    if (!reader.ok()) return Error(ErrorCode::malformed, "trees: level ends before its numbers");
    const ByteView level = reader.rest();
    COT_ASSIGN(const LevelSplits splits, read_level(level, frontier_));
    for (size_t i = 0; i < splits.size(); ++i) {
      // Both hold the same tree, or a later level is computed on other rows than the label party thinks.
      if (!own_[i].empty() && own_[i] != splits[i]) {
        return Error(ErrorCode::malformed, "trees: the label party did not split node " +
                                               std::to_string(frontier_.nodes()[i].id) + " as it had this party do it");
      }
    }
    // The digest of all levels so far is the name of what both have trained: resuming compares it.
    shape_.update(message.payload);
    levels_.emplace_back(level.begin(), level.end());
    frontier_.split(splits, model_.trees.back());
    ++level_;
    own_.clear();
    if (!frontier_.nodes().empty() && level_ < model_.settings.depth) {
      compute_frontier();
      own_.resize(frontier_.nodes().size());
      checkpoint_ = {.model = model_, .levels = levels_};
      return {};
    }
    grown_.push_back({.number = tree(), .tree = model_.trees.back(), .levels = {}});
    in_tree_ = false;
    arrived_ = 0;
    for (CiphertextPtr& term : terms_) term.reset();
    if (model_.settings.goss) sampled_.clear();
    levels_.clear();
    model_.shape = std::exchange(shape_, {}).finish();
    if (model_.trees.size() < model_.settings.trees()) checkpoint_ = {.model = model_, .levels = {}};
    return {};
  }

  BinnedColumns columns_;
  std::vector<Candidate> candidates_;
  Secret<32> seed_;
  CipherMaker make_cipher_;
  std::unique_ptr<AdditiveCipher> cipher_;
  std::optional<PairPacking> packing_;

  std::vector<uint32_t> sampled_;     // rows that the tree looks at; empty until they are known
  uint32_t arrived_ = 0;              // of them, those whose gradients are here
  std::vector<CiphertextPtr> terms_;  // of the tree: a row's gradients, null where it is not looked at
  std::vector<uint32_t> order_;       // of the tree
  Frontier frontier_;
  bool in_tree_ = false;
  uint32_t level_ = 0;
  TreeLevels levels_;              // of the tree, as all parties know them
  std::vector<Bitmap> own_;        // [node of the frontier]: this party's split of it, or none
  std::deque<size_t> to_compute_;  // nodes of the frontier whose sums are still to be sent

  ContentDigester shape_;  // of the tree, behind the shape of those before
  FeatureTreeModel model_;
  std::optional<FeatureTreeCheckpoint> checkpoint_;
  std::vector<GrownTree> grown_;
  std::deque<Message> outbox_;
};

}  // namespace

Result<std::unique_ptr<FeatureTraining>> FeatureTraining::start(BinnedColumns columns, TreeSettings settings,
                                                                Secret<32> seed, CipherMaker make_cipher,
                                                                FeatureTreeCheckpoint from) {
  COT_TRY(check_tree_settings(settings));
  COT_TRY(check_trees_so_far(settings, from.model.settings, from.model.trees.size(), from.levels));
  if (!from.model.trees.empty() && from.model.columns != columns.columns()) {
    return Error(ErrorCode::invalid_argument, "trees: the checkpoint is of " + std::to_string(from.model.columns) +
                                                  " columns, expected " + std::to_string(columns.columns()));
  }
  const size_t candidates = candidates_of(columns).size();
  if (candidates == 0 || candidates > kTreeCandidatesMax) {
    return Error(ErrorCode::invalid_argument,
                 "trees: " + std::to_string(columns.rows) + " rows with " + std::to_string(candidates) +
                     " candidates for splits, expected 1 to " + std::to_string(kTreeCandidatesMax));
  }
  COT_ASSIGN(Frontier frontier,
             frontier_behind(columns.rows, from.levels, from.levels.empty() ? Tree(1) : from.model.trees.back()));
  return std::unique_ptr<FeatureTraining>(std::make_unique<FeatureMachine>(
      std::move(columns), settings, std::move(seed), make_cipher, std::move(from), std::move(frontier)));
}

}  // namespace coterie::vertical

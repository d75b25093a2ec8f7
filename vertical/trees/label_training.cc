#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <string>
#include <utility>

#include "secure/crypto/digest.h"
#include "vertical/trees/frontier.h"
#include "vertical/trees/gradient_sample.h"
#include "vertical/trees/gradients.h"
#include "vertical/trees/left_sums.h"
#include "vertical/trees/settings_wire.h"
#include "vertical/trees/train_trees.h"
#include "vertical/trees/tree_messages.h"

namespace coterie::vertical {
namespace {

// Sums left of one party's candidates, by its numbers of them.
using LeftSums = std::vector<SumPair>;

LeftSums difference(const LeftSums& whole, const LeftSums& part) {
  LeftSums rest(whole.size());
  for (size_t i = 0; i < whole.size(); ++i) rest[i] = whole[i] - part[i];
  return rest;
}

// A feature party.
struct Peer {
  PartyIndex index = 0;
  bool ready = false;
  uint32_t candidates = 0;
  std::vector<LeftSums> sums;  // [node of the frontier]
  size_t arrived = 0;          // nodes of frontier.computed() that are here in whole
  LeftSums arriving;           // of the next one
  std::deque<size_t> asked;    // nodes whose partition is to come
};

// The best candidates of a node: of one party, all that are tied.
struct Best {
  enum class Owner : uint8_t { nobody, label_party, peer };
  Owner owner = Owner::nobody;
  size_t peer = 0;
  std::vector<uint32_t> candidates;
  float gain = 0;
};

class LabelMachine : public LabelTraining {
 public:
  LabelMachine(BinnedColumns columns, std::vector<float> labels, TreeSettings settings, std::vector<PartyIndex> peers,
               std::unique_ptr<AdditiveKey> key, LabelTreeCheckpoint from, Secret<32> sample_seed, Frontier frontier)
      : columns_(std::move(columns)),
        candidates_(candidates_of(columns_)),
        labels_(std::move(labels)),
        key_(std::move(key)),
        packing_(sum_bits(settings.objective, rows()), key_->plaintext_bits()),
        sample_seed_(std::move(sample_seed)),
        margins_(size_t{rows()} * settings.classes, base_margin(settings.objective)),
        round_margins_(margins_),
        sampled_(rows()),
        frontier_(std::move(frontier)) {
    model_.settings = settings;
    model_.columns = columns_.columns();
    std::iota(sampled_.begin(), sampled_.end(), 0u);
    if (!from.model.trees.empty()) {
      model_.trees = std::move(from.model.trees);
      model_.shape = from.model.shape;
      margins_ = std::move(from.margins);
      round_margins_ = std::move(from.round_margins);
      levels_ = std::move(from.levels);
      // Between rounds begin_tree() does.
      if (!levels_.empty() || model_.trees.size() % settings.classes != 0) begin_round();
    }
    for (const PartyIndex index : peers) {
      peers_.emplace_back();
      peers_.back().index = index;
      WireWriter writer;
      writer.u32(kTreeProtocolVersion);
      write_settings(writer, settings);
      writer.u32(rows());
      writer.u32(static_cast<uint32_t>(sum_bits(settings.objective, rows())));
      writer.raw(key_->public_key());
      outbox_.push_back(tree_message(index, TreeMessage::hello, writer));
    }
    if (peers_.empty()) begin_trees();
  }

  std::optional<Message> next() override {
    if (outbox_.empty() && encrypted_ < sampled_.size() && in_tree_ && shared()) encrypt_some();
    if (outbox_.empty()) return std::nullopt;
    Message message = std::move(outbox_.front());
    outbox_.pop_front();
    return message;
  }

  Status receive(const Message& message) override {
    const auto peer = std::ranges::find(peers_, message.peer, &Peer::index);
    if (peer == peers_.end() || done()) return unexpected_peer(message);
    if (!peer->ready) return take_ready(message, *peer);
    if (!in_tree_ || !shared()) return unexpected_peer(message);
    if (!peer->asked.empty()) return take_partition(message, *peer);
    if (peer->arrived < frontier_.computed().size()) return take_splits(message, *peer);
    return unexpected_peer(message);
  }

  // Feature parties answer the label party alone, so that their answers may be taken one party after the other.
  PartyIndex awaits() const override {
    // No tree has begun before all are ready.
    const bool are_ready = std::ranges::all_of(peers_, &Peer::ready);
    const auto peer = std::ranges::find_if(peers_, [&](const Peer& one) { return are_ready ? owes(one) : !one.ready; });
    return peer == peers_.end() ? 0 : peer->index;
  }

  bool done() const override { return finished_ && outbox_.empty(); }
  const LabelTreeModel& model() const override { return model_; }
  std::optional<LabelTreeCheckpoint> take_checkpoint() override { return std::exchange(checkpoint_, std::nullopt); }
  std::vector<GrownTree> take_grown() override { return std::exchange(grown_, {}); }
  uint32_t trees_done() const override {
    return static_cast<uint32_t>(model_.trees.size()) - (in_tree_ || !levels_.empty() ? 1 : 0);
  }

 private:
  uint32_t rows() const { return static_cast<uint32_t>(labels_.size()); }
  uint32_t tree() const { return static_cast<uint32_t>(model_.trees.size()) - 1; }
  uint32_t class_of_tree() const { return tree() % model_.settings.classes; }
  // Whether feature parties have a part in this tree.
  bool shared() const {
    return !peers_.empty() && !(model_.settings.label_party_first && tree() < model_.settings.classes);
  }
  const std::vector<SumPair>& terms() const { return gradients_[class_of_tree()]; }
  SumPair sum_of(const FrontierNode& node) const {
    SumPair sum;
    for (const uint32_t row : node.rows) sum += terms()[row];
    return sum;
  }

  Status take_ready(const Message& message, Peer& peer) {
    COT_TRY(expect_kind(message, TreeMessage::ready));
    WireReader reader(message.payload);
    peer.candidates = reader.u32();
    if (!reader.ended() || peer.candidates == 0 || peer.candidates > kTreeCandidatesMax) {
      return Error(ErrorCode::malformed, "trees: ready with " + std::to_string(peer.candidates) + " candidates in " +
                                             std::to_string(message.payload.size()) + " bytes, expected 1 to " +
                                             std::to_string(kTreeCandidatesMax));
    }
    peer.ready = true;
    if (std::ranges::all_of(peers_, &Peer::ready)) begin_trees();
    return {};
  }

  void begin_trees() {
    levels_.empty() ? begin_tree() : enter_tree();
    // Trees of this party alone need nobody's answer.
    run_alone();
  }

  void begin_tree() {
    model_.trees.emplace_back(1);
    frontier_ = Frontier(rows());
    // The trees of all classes of one round have the gradients of one moment, as in XGBoost.
    if (class_of_tree() == 0) begin_round();
    enter_tree();
  }

  // Behind those of its levels that are done: none, or what a checkpoint has.
  void enter_tree() {
    in_tree_ = true;
    level_ = static_cast<uint32_t>(levels_.size());
    encrypted_ = 0;
    if (shared()) shape_ = shape_of(model_.shape, tree(), levels_);
    if (shared() && model_.settings.goss) send_sample();
    own_sums_.clear();
    for (const FrontierNode& node : frontier_.nodes()) own_sums_.push_back(own_left_sums(node));
    for (Peer& peer : peers_) {
      peer.sums.assign(frontier_.nodes().size(), {});
      peer.arrived = 0;
    }
  }
  LeftSums own_left_sums(const FrontierNode& node) const {
    return left_sums<PlainSums>(columns_, candidates_, node.rows, terms(), {});
  }

  void begin_round() {
    gradients_ = gradients(model_.settings, labels_, round_margins_);
    if (!model_.settings.goss) return;
    sampled_ = sample_gradients(*model_.settings.goss, sample_seed_, tree() / model_.settings.classes, gradients_);
  }

  void send_sample() {
    Bitmap bitmap(bitmap_bytes(rows()));
    for (const uint32_t row : sampled_) set_bit(bitmap, row);
    WireWriter writer;
    writer.u32(tree());
    writer.raw(bitmap);
    send_to_all(tree_message(0, TreeMessage::sample, writer));
  }

  void send_to_all(const Message& message) {
    for (const Peer& peer : peers_) {
      outbox_.push_back(message);
      outbox_.back().peer = peer.index;
    }
  }

  // Goes on as far as nobody needs to be waited for.
  void run_alone() {
    while (!finished_ && in_tree_ && !waits()) decide_level();
  }
  bool waits() const {
    if (!shared()) return false;
    return std::ranges::any_of(peers_, [this](const Peer& peer) { return owes(peer); });
  }
  bool owes(const Peer& peer) const { return !peer.asked.empty() || peer.arrived < frontier_.computed().size(); }

  void encrypt_some() {
    const size_t bytes = key_->ciphertext_bytes();
    const auto end =
        static_cast<uint32_t>(std::min<size_t>(sampled_.size(), encrypted_ + ciphertexts_of_message(bytes)));
    WireWriter writer;
    writer.u32(tree());
    writer.u32(encrypted_);
    std::vector<PlainNumber> numbers;
    for (; encrypted_ < end; ++encrypted_) {
      numbers.push_back(packing_.encode(std::span(&terms()[sampled_[encrypted_]], 1)));
    }
    Bytes ciphertexts(numbers.size() * bytes);
    key_->encrypt_each(numbers, ciphertexts);
    writer.raw(ciphertexts);
    send_to_all(tree_message(0, TreeMessage::gradients, writer));
  }

  Status take_splits(const Message& message, Peer& peer) {
    COT_TRY(expect_kind(message, TreeMessage::splits));
    if (encrypted_ < sampled_.size()) return unexpected_peer(message);
    const size_t position = frontier_.computed()[peer.arrived];
    const size_t pairs_max = packing_.pairs_max();
    WireReader reader(message.payload);
    COT_TRY(expect_number("splits", "tree", reader.u32(), tree()));
    COT_TRY(expect_number("splits", "node", reader.u32(), frontier_.nodes()[position].id));
    COT_TRY(expect_number("splits", "first ciphertext", reader.u32(),
                          static_cast<uint32_t>(peer.arriving.size() / pairs_max)));
    const size_t missing = peer.candidates - peer.arriving.size();
    const size_t count = reader.rest().size() / key_->ciphertext_bytes();
    if (!reader.ok() || count == 0 || count > (missing + pairs_max - 1) / pairs_max) {
      return Error(ErrorCode::malformed, "trees: splits of " + std::to_string(count) + " ciphertexts, expected 1 to " +
                                             std::to_string((missing + pairs_max - 1) / pairs_max));
    }
    COT_ASSIGN(const std::vector<PlainNumber> numbers, key_->decrypt(reader.rest()));
    for (const PlainNumber& number : numbers) {
      const size_t pairs = std::min<size_t>(pairs_max, peer.candidates - peer.arriving.size());
      COT_ASSIGN(const std::vector<SumPair> sums, packing_.decode(number, pairs));
      peer.arriving.insert(peer.arriving.end(), sums.begin(), sums.end());
    }
    if (peer.arriving.size() < peer.candidates) return {};
    // The sibling's sums are what is left of the parent's; both lie side by side in the frontier.
    LeftSums& computed = peer.sums[position];
    if (!frontier_.computes_all()) {
      const size_t sibling = position ^ 1;
      peer.sums[sibling] = difference(peer.sums[position], peer.arriving);
    }
    computed = std::move(peer.arriving);
    peer.arriving = {};
    ++peer.arrived;
    run_alone();
    return {};
  }

  // The best of all parties' candidates; of equals the first party's.
  Best best_of(size_t position) const {
    Best best;
    const SumPair node = sum_of(frontier_.nodes()[position]);
    const auto look = [&](const LeftSums& sums, Best::Owner owner, size_t peer) {
      float gain = best.gain;
      std::vector<uint32_t> tied;
      for (uint32_t i = 0; i < sums.size(); ++i) {
        const float of_split = split_gain(sums[i], node, model_.settings);
        if (of_split > gain) {
          gain = of_split;
          tied.clear();
        }
        if (of_split == gain && of_split > best.gain) tied.push_back(i);
      }
      if (!tied.empty()) best = {owner, peer, std::move(tied), gain};
    };
    look(own_sums_[position], Best::Owner::label_party, 0);
    for (size_t i = 0; shared() && i < peers_.size(); ++i) look(peers_[i].sums[position], Best::Owner::peer, i);
    if (best.gain <= kSplitGainMin) best = {};
    return best;
  }

  // All sums of the level are here: splits it, or asks those who own the best candidates.
  void decide_level() {
    if (splits_.empty()) {
      splits_.resize(frontier_.nodes().size());
      expected_.resize(frontier_.nodes().size());
      for (size_t i = 0; i < splits_.size(); ++i) decide(i);
      if (waits()) return;
    }
    finish_level();
  }

  void decide(size_t position) {
    const FrontierNode& node = frontier_.nodes()[position];
    const Best best = best_of(position);
    if (best.owner == Best::Owner::peer) {
      Peer& peer = peers_[best.peer];
      expected_[position] = peer.sums[position][best.candidates[0]];
      peer.asked.push_back(position);
      WireWriter writer;
      writer.u32(tree());
      writer.u32(node.id);
      for (const uint32_t candidate : best.candidates) writer.u32(candidate);
      outbox_.push_back(tree_message(peer.index, TreeMessage::choice, writer));
    } else if (best.owner == Best::Owner::label_party) {
      const Candidate& candidate = candidates_[best.candidates[0]];
      splits_[position].resize(bitmap_bytes(node.rows.size()));
      for (size_t k = 0; k < node.rows.size(); ++k) {
        if (goes_left(columns_, candidate, node.rows[k])) set_bit(splits_[position], k);
      }
      TreeNode& split = model_.trees.back()[node.id];
      split.kind = TreeNode::Kind::own_split;
      split.column = candidate.column;
      split.threshold = threshold_of(columns_, candidate);
      split.missing_left = candidate.missing_left;
    }
  }

  Status take_partition(const Message& message, Peer& peer) {
    COT_TRY(expect_kind(message, TreeMessage::partition));
    const size_t position = peer.asked.front();
    const FrontierNode& node = frontier_.nodes()[position];
    WireReader reader(message.payload);
    COT_TRY(expect_number("partition", "tree", reader.u32(), tree()));
    COT_TRY(expect_number("partition", "node", reader.u32(), node.id));
    const ByteView bitmap = reader.rest();
    if (!reader.ok() || !is_bitmap_of(bitmap, node.rows.size())) {
      return Error(ErrorCode::malformed, "trees: a partition has " + std::to_string(bitmap.size()) +
                                             " bytes or bits behind its rows, expected a bit for each of " +
                                             std::to_string(node.rows.size()) + " rows");
    }
    // Tied candidates have equal gains, and mostly equal sums; a partition is one of theirs at least in its gain.
    SumPair left;
    for (size_t k = 0; k < node.rows.size(); ++k) {
      if (bit_of(bitmap, k)) left += terms()[node.rows[k]];
    }
    const SumPair whole = sum_of(node);
    if (split_gain(left, whole, model_.settings) != split_gain(expected_[position], whole, model_.settings)) {
      return Error(ErrorCode::malformed, "trees: party " + std::to_string(peer.index) + " split node " +
                                             std::to_string(node.id) + " otherwise than its candidate's sum says");
    }
    splits_[position].assign(bitmap.begin(), bitmap.end());
    peer.asked.pop_front();
    run_alone();
    return {};
  }

  void finish_level() {
    levels_.push_back(write_level(splits_));
    if (shared()) {
      const Bytes payload = level_payload(tree(), level_, levels_.back());
      shape_.update(payload);
      send_to_all({0, static_cast<uint16_t>(TreeMessage::level), payload});
    }
    for (size_t i = 0; i < splits_.size(); ++i) {
      if (splits_[i].empty()) make_leaf(frontier_.nodes()[i]);
    }
    keep_parents_sums();
    frontier_.split(splits_, model_.trees.back());
    splits_.clear();
    expected_.clear();
    ++level_;
    if (frontier_.nodes().empty() || level_ == model_.settings.depth) {
      for (const FrontierNode& node : frontier_.nodes()) make_leaf(node);
      end_tree();
      return;
    }
    for (const size_t position : frontier_.computed()) {
      LeftSums small = own_left_sums(frontier_.nodes()[position]);
      own_sums_[position ^ 1] = difference(own_sums_[position], small);
      own_sums_[position] = std::move(small);
    }
    keep_checkpoint();
  }

  // What no feature party has a part in is done again, so that no party has a point which its peers lack.
  void keep_checkpoint() {
    if (!shared()) return;
    checkpoint_ = {.model = model_, .levels = levels_, .margins = margins_, .round_margins = round_margins_};
  }

  // Each two children begin with a copy of their parent's sums, in both places.
  void keep_parents_sums() {
    const auto spread = [this](std::vector<LeftSums>& sums) {
      std::vector<LeftSums> next;
      for (size_t i = 0; i < splits_.size(); ++i) {
        if (splits_[i].empty()) continue;
        next.push_back(sums[i]);
        next.push_back(std::move(sums[i]));
      }
      sums = std::move(next);
    };
    spread(own_sums_);
    for (Peer& peer : peers_) {
      spread(peer.sums);
      peer.arrived = 0;
    }
  }

  void make_leaf(const FrontierNode& node) {
    const float weight = leaf_weight(sum_of(node), model_.settings);
    model_.trees.back()[node.id].weight = weight;
    for (const uint32_t row : node.rows) margins_[size_t{row} * model_.settings.classes + class_of_tree()] += weight;
  }

  void end_tree() {
    if (shared()) model_.shape = std::exchange(shape_, {}).finish();
    grown_.push_back({.number = tree(), .tree = model_.trees.back(), .levels = std::exchange(levels_, {})});
    if (model_.trees.size() % model_.settings.classes == 0) round_margins_ = margins_;
    if (model_.trees.size() < model_.settings.trees()) {
      keep_checkpoint();
      begin_tree();
      return;
    }
    in_tree_ = false;
    finished_ = true;
  }

  BinnedColumns columns_;
  std::vector<Candidate> candidates_;
  std::vector<float> labels_;
  std::unique_ptr<AdditiveKey> key_;
  PairPacking packing_;
  Secret<32> sample_seed_;
  std::vector<Peer> peers_;

  std::vector<float> margins_;                   // row by row, a class after the other
  std::vector<float> round_margins_;             // at the round's begin
  std::vector<std::vector<SumPair>> gradients_;  // of the round
  std::vector<uint32_t> sampled_;                // rows that the round looks at
  Frontier frontier_;
  bool in_tree_ = false;
  bool finished_ = false;
  uint32_t level_ = 0;
  TreeLevels levels_;               // of the tree; of one that feature parties have a part in all parties know them
  uint32_t encrypted_ = 0;          // of sampled_, in the tree
  std::vector<LeftSums> own_sums_;  // [node of the frontier]
  LevelSplits splits_;              // of the level, while it is decided
  LeftSums expected_;               // [node]: what is to be left of a peer's split

  ContentDigester shape_;  // of the tree, behind the shape of those before
  LabelTreeModel model_;
  std::optional<LabelTreeCheckpoint> checkpoint_;
  std::vector<GrownTree> grown_;
  std::deque<Message> outbox_;
};

}  // namespace

Result<std::unique_ptr<LabelTraining>> LabelTraining::start(BinnedColumns columns, std::vector<float> labels,
                                                            TreeSettings settings, std::vector<PartyIndex> peers,
                                                            std::unique_ptr<AdditiveKey> key, LabelTreeCheckpoint from,
                                                            Secret<32> sample_seed) {
  COT_TRY(check_tree_settings(settings));
  COT_TRY(check_labels(settings, labels));
  COT_TRY(check_trees_so_far(settings, from.model.settings, from.model.trees.size(), from.levels));
  if (!from.model.trees.empty() &&
      (from.model.columns != columns.columns() || from.margins.size() != labels.size() * settings.classes ||
       from.round_margins.size() != from.margins.size())) {
    return Error(ErrorCode::invalid_argument, "trees: the checkpoint is of " + std::to_string(from.model.columns) +
                                                  " columns and " + std::to_string(from.margins.size()) +
                                                  " margins, expected other ones");
  }
  const size_t candidates = candidates_of(columns).size();
  if (labels.empty() || labels.size() > kTreeRowsMax || (columns.columns() > 0 && columns.rows != labels.size()) ||
      candidates > kTreeCandidatesMax) {
    return Error(ErrorCode::invalid_argument, "trees: " + std::to_string(labels.size()) + " labels for " +
                                                  std::to_string(columns.rows) + " rows with " +
                                                  std::to_string(candidates) + " candidates for splits");
  }
  std::ranges::sort(peers);
  if (std::ranges::adjacent_find(peers) != peers.end() || std::ranges::find(peers, 0u) != peers.end()) {
    return Error(ErrorCode::invalid_argument, "trees: a feature party twice, or the label party as one");
  }
  COT_ASSIGN(Frontier frontier, frontier_behind(static_cast<uint32_t>(labels.size()), from.levels,
                                                from.levels.empty() ? Tree(1) : from.model.trees.back()));
  return std::unique_ptr<LabelTraining>(
      std::make_unique<LabelMachine>(std::move(columns), std::move(labels), settings, std::move(peers), std::move(key),
                                     std::move(from), std::move(sample_seed), std::move(frontier)));
}

}  // namespace coterie::vertical

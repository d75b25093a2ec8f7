#include "vertical/trees/predict_trees.h"

#include <algorithm>
#include <deque>
#include <string>

#include "vertical/trees/frontier.h"
#include "vertical/trees/gradients.h"
#include "vertical/trees/open_leaves.h"
#include "vertical/trees/tree_messages.h"

namespace coterie::vertical {
namespace {

// The first tree that feature parties know.
size_t first_shared(const TreeSettings& settings) { return settings.label_party_first ? settings.classes : 0; }

class FeatureScorer : public FeaturePrediction {
 public:
  FeatureScorer(RawColumns columns, FeatureTreeModel model, uint32_t rows)
      : columns_(std::move(columns)),
        model_(std::move(model)),
        rows_(rows),
        row_bytes_(bitmap_bytes(leaves_of(model_.trees, first_shared(model_.settings)))) {}

  std::optional<Message> next() override {
    if (!asked_ || row_ == rows_ || row_bytes_ == 0) return std::nullopt;
    const auto end = static_cast<uint32_t>(std::min<size_t>(rows_, row_ + (kMessageBytesMax - 4) / row_bytes_));
    WireWriter writer;
    writer.u32(row_);
    Bytes bits;
    for (; row_ < end; ++row_) {
      bits.assign(row_bytes_, 0);
      open_leaves(model_.trees, first_shared(model_.settings), columns_, row_, bits);
      writer.raw(bits);
    }
    return tree_message(0, TreeMessage::reach, writer);
  }

  Status receive(const Message& message) override {
    if (message.peer != 0 || asked_) return unexpected_peer(message);
    COT_TRY(expect_kind(message, TreeMessage::ask));
    WireReader reader(message.payload);
    COT_TRY(expect_number("ask", "version", reader.u32(), kTreeProtocolVersion));
    const ByteView shape = reader.raw(model_.shape.bytes.size());
    if (!std::ranges::equal(shape, model_.shape.view())) {
      return Error(ErrorCode::conflict, "trees: the label party asks about another model than this part is of");
    }
    COT_TRY(expect_number("ask", "rows", reader.u32(), rows_));
    if (!reader.ended()) return Error(ErrorCode::malformed, "trees: ask has not the bytes of its fields");
    asked_ = true;
    return {};
  }

  bool done() const override { return asked_ && (row_ == rows_ || row_bytes_ == 0); }

 private:
  RawColumns columns_;
  FeatureTreeModel model_;
  uint32_t rows_;
  size_t row_bytes_;
  uint32_t row_ = 0;
  bool asked_ = false;
};

class LabelScorer : public LabelPrediction {
 public:
  LabelScorer(RawColumns columns, LabelTreeModel model, uint32_t rows, const std::vector<PartyIndex>& peers)
      : model_(std::move(model)),
        rows_(rows),
        first_shared_(first_shared(model_.settings)),
        row_bytes_(bitmap_bytes(leaves_of(model_.trees, first_shared_))) {
    const size_t all_bytes = bitmap_bytes(leaves_of(model_.trees, 0));
    Bytes all;
    for (uint32_t row = 0; row < rows; ++row) {
      all.assign(all_bytes, 0);
      open_leaves(model_.trees, 0, columns, row, all);
      own_.insert(own_.end(), all.begin(), all.end());
    }
    for (const PartyIndex peer : peers) {
      peers_.push_back({peer, 0});
      WireWriter writer;
      writer.u32(kTreeProtocolVersion);
      writer.raw(model_.shape.view());
      writer.u32(rows);
      outbox_.push_back(tree_message(peer, TreeMessage::ask, writer));
    }
    // All leaves are open until a party closes one: a row's leaf is the one that every party leaves open.
    open_.assign(size_t{rows} * row_bytes_, 0xff);
  }

  // What this party can do without the others; not in the constructor, as it may find the parts wrong.
  Status begin() { return all_here() ? score() : Status(); }

  std::optional<Message> next() override {
    if (outbox_.empty()) return std::nullopt;
    Message message = std::move(outbox_.front());
    outbox_.pop_front();
    return message;
  }

  Status receive(const Message& message) override {
    const auto peer = std::ranges::find(peers_, message.peer, &Peer::index);
    if (peer == peers_.end() || peer->rows == rows_ || row_bytes_ == 0) return unexpected_peer(message);
    COT_TRY(expect_kind(message, TreeMessage::reach));
    WireReader reader(message.payload);
    COT_TRY(expect_number("reach", "first row", reader.u32(), peer->rows));
    const ByteView bits = reader.rest();
    const size_t count = bits.size() / row_bytes_;
    if (!reader.ok() || count == 0 || bits.size() % row_bytes_ != 0 || count > rows_ - peer->rows) {
      return Error(ErrorCode::malformed, "trees: reach has " + std::to_string(bits.size()) +
                                             " bytes of leaves, expected 1 to " + std::to_string(rows_ - peer->rows) +
                                             " rows of " + std::to_string(row_bytes_));
    }
    for (size_t i = 0; i < bits.size(); ++i) open_[peer->rows * row_bytes_ + i] &= bits[i];
    peer->rows += static_cast<uint32_t>(count);
    return all_here() ? score() : Status();
  }

  PartyIndex awaits() const override {
    const auto peer = std::ranges::find_if(peers_, [this](const Peer& one) { return one.rows < rows_; });
    return peer == peers_.end() ? 0 : peer->index;
  }

  bool done() const override { return scored_ && outbox_.empty(); }
  const std::vector<float>& scores() const override { return scores_; }

 private:
  struct Peer {
    PartyIndex index;
    uint32_t rows;  // that have come
  };

  bool all_here() const {
    return row_bytes_ == 0 || std::ranges::all_of(peers_, [this](const Peer& peer) { return peer.rows == rows_; });
  }

  Status score() {
    const size_t own_bytes = bitmap_bytes(leaves_of(model_.trees, 0));
    const size_t alone = leaves_of(model_.trees, 0) - leaves_of(model_.trees, first_shared_);
    const uint32_t classes = model_.settings.classes;
    scores_.assign(size_t{rows_} * classes, base_margin(model_.settings.objective));
    for (size_t row = 0; row < rows_; ++row) {
      const ByteView own = ByteView(own_).subspan(row * own_bytes, own_bytes);
      const ByteView theirs = ByteView(open_).subspan(row * row_bytes_, row_bytes_);
      size_t leaf = 0;
      for (size_t t = 0; t < model_.trees.size(); ++t) {
        size_t open = 0;
        for (const TreeNode& node : model_.trees[t]) {
          if (node.kind != TreeNode::Kind::leaf) continue;
          if (bit_of(own, leaf) && (leaf < alone || bit_of(theirs, leaf - alone))) {
            scores_[row * classes + t % classes] += node.weight;
            ++open;
          }
          ++leaf;
        }
        if (open != 1) {
          return Error(ErrorCode::malformed, "trees: row " + std::to_string(row) + " comes to " + std::to_string(open) +
                                                 " leaves of tree " + std::to_string(t) +
                                                 ", expected one: the parts are not of one model, or a party lies");
        }
      }
    }
    scores_of_margins(model_.settings, scores_);
    scored_ = true;
    return {};
  }

  LabelTreeModel model_;
  uint32_t rows_;
  size_t first_shared_;
  size_t row_bytes_;  // of what a peer says of a row
  Bytes own_;         // open leaves of all trees, row by row
  Bytes open_;        // what all peers leave open, row by row
  std::vector<Peer> peers_;
  std::vector<float> scores_;
  bool scored_ = false;
  std::deque<Message> outbox_;
};

}  // namespace

Result<std::unique_ptr<LabelPrediction>> LabelPrediction::start(RawColumns columns, LabelTreeModel model, uint32_t rows,
                                                                std::vector<PartyIndex> peers) {
  COT_TRY(check_columns(columns, model.columns, rows));
  auto scorer = std::make_unique<LabelScorer>(std::move(columns), std::move(model), rows, peers);
  COT_TRY(scorer->begin());
  return std::unique_ptr<LabelPrediction>(std::move(scorer));
}

Result<std::unique_ptr<FeaturePrediction>> FeaturePrediction::start(RawColumns columns, FeatureTreeModel model,
                                                                    uint32_t rows) {
  COT_TRY(check_columns(columns, model.columns, rows));
  return std::unique_ptr<FeaturePrediction>(
      std::make_unique<FeatureScorer>(std::move(columns), std::move(model), rows));
}

}  // namespace coterie::vertical

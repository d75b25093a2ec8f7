#include "secure/crypto/digest.h"

#include <algorithm>

#include "base/assert.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

static_assert(sizeof(Digest) == 32, "digests lie side by side");

constexpr uint8_t kLeaf = 0x00;
constexpr uint8_t kNode = 0x01;
constexpr size_t kBatchLeaves = 64;  // leaves hashed side by side: a power of two, a multiple of every lane count
constexpr size_t kBatchBytes = kBatchLeaves * kDigestLeafBytes;

Digest parent(const Digest& left, const Digest& right) {
  std::array<uint8_t, 64> both;
  std::copy(left.bytes.begin(), left.bytes.end(), both.begin());
  std::copy(right.bytes.begin(), right.bytes.end(), both.begin() + 32);
  return sha256(kNode, both);
}

// The root over one full batch of leaves, level by level, each level's hashes side by side.
Digest batch_root(ByteView batch) {
  std::array<Digest, kBatchLeaves> nodes;
  sha256_many(kLeaf, batch, kDigestLeafBytes, nodes);
  for (size_t width = kBatchLeaves / 2; width > 0; width /= 2) {
    std::array<Digest, kBatchLeaves / 2> parents;
    const ByteView children(nodes[0].bytes.data(), 2 * width * sizeof(Digest));
    sha256_many(kNode, children, 2 * sizeof(Digest), std::span(parents).first(width));
    std::copy_n(parents.begin(), width, nodes.begin());
  }
  return nodes[0];
}

}  // namespace

void ContentDigester::push(Subtree subtree) {
  // As in a binary counter: two subtrees of one size become one, so that a stack of log2(leaves) digests is all the
  // state.
  while (!stack_.empty() && stack_.back().leaves == subtree.leaves) {
    subtree = {parent(stack_.back().root, subtree.root), subtree.leaves * 2};
    stack_.pop_back();
  }
  stack_.push_back(subtree);
}

void ContentDigester::push_batches(ByteView whole_batches) {
  for (; !whole_batches.empty(); whole_batches = whole_batches.subspan(kBatchBytes)) {
    push({batch_root(whole_batches.first(kBatchBytes)), kBatchLeaves});
  }
}

void ContentDigester::update(ByteView bytes) {
  if (!pending_.empty()) {
    const size_t take = std::min(bytes.size(), kBatchBytes - pending_.size());
    pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(take));
    bytes = bytes.subspan(take);
    if (pending_.size() < kBatchBytes) return;
    push_batches(pending_);
  }
  // Whole batches are hashed where they lie; only the rest is copied.
  const size_t direct = bytes.size() / kBatchBytes * kBatchBytes;
  push_batches(bytes.first(direct));
  pending_.assign(bytes.begin() + static_cast<ptrdiff_t>(direct), bytes.end());
}

Digest ContentDigester::finish() {
  const size_t whole = pending_.size() / kDigestLeafBytes;
  const ByteView pending = pending_;
  std::array<Digest, kBatchLeaves> leaves;
  sha256_many(kLeaf, pending.first(whole * kDigestLeafBytes), kDigestLeafBytes, std::span(leaves).first(whole));
  for (size_t i = 0; i < whole; ++i) push({leaves[i], 1});
  const ByteView rest = pending.subspan(whole * kDigestLeafBytes);
  if (!rest.empty()) push({sha256(kLeaf, rest), 1});
  if (stack_.empty()) return sha256(ByteView{});
  // The right edge of the tree: smaller subtrees hang to the right of larger ones.
  Digest root = stack_.back().root;
  for (size_t i = stack_.size() - 1; i > 0; --i) root = parent(stack_[i - 1].root, root);
  return root;
}

Digest content_digest(ByteView blob) {
  ContentDigester digester;
  digester.update(blob);
  return digester.finish();
}

DeviceId device_id_of(ByteView public_key) {
  const Digest digest = content_digest(public_key);
  DeviceId id;
  std::copy_n(digest.bytes.begin(), id.bytes.size(), id.bytes.begin());
  return id;
}

}  // namespace coterie

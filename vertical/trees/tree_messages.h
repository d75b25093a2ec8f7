// What the parties of a training say to each other. All numbers are little-endian (wire.h).
//
//   label party                              feature party
//   hello: settings, rows, key  ----------->
//                               <-----------  ready: how many candidates
//   for each tree that feature parties have a part in:
//   sample: which rows, if it samples ----->
//   gradients: a ciphertext a row  -------->
//     for each level:
//                               <-----------  splits: what is left of each candidate, in a secret order, for one node
//     choice: a node, candidates  ---------->  to whose candidate is the best; all that are tied for it
//                               <-----------  partition: who of the node's rows goes left
//     level: each node's partition, to all -->
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "secure/crypto/digest.h"
#include "vertical/stage/stage.h"
#include "vertical/stage/wire.h"

namespace coterie::vertical {

// From 100 on, so that no stage before it has the same kinds.
enum class TreeMessage : uint16_t {
  hello = 100,      // u32 version, settings, u32 rows, u32 bits of a sum, the public key
  ready = 101,      // u32 candidates
  gradients = 102,  // u32 tree, u32 first of the rows that are looked at, ciphertexts
  splits = 103,     // u32 tree, u32 node, u32 first ciphertext, ciphertexts
  choice = 104,     // u32 tree, u32 node, u32 candidates...
  partition = 105,  // u32 tree, u32 node, bitmap
  level = 106,      // u32 tree, u32 level, frontier.h's write_level
  sample = 107,     // u32 tree, a bit a row
  ask = 110,        // prediction: u32 version, the model's shape, u32 rows
  reach = 111,      // u32 first row, leaves that are open, whole bytes a row
};

constexpr uint32_t kTreeProtocolVersion = 1;
constexpr size_t kTreeHeaderBytes = 12;  // of gradients and splits, at most

// A message of `kind` to a peer.
inline Message tree_message(PartyIndex peer, TreeMessage kind, WireWriter& writer) {
  return {peer, static_cast<uint16_t>(kind), writer.take()};
}

// malformed, naming what came and what was expected.
Status expect_kind(const Message& message, TreeMessage expected);
Error unexpected_peer(const Message& message);
Status expect_number(const char* message, const char* name, uint32_t came, uint32_t expected);

// What `level` says: a level of a tree as write_level() has it (frontier.h).
Bytes level_payload(uint32_t tree, uint32_t level, ByteView splits);

// The digest of the trees before, and of a tree's levels so far: the next level goes on from it.
ContentDigester shape_of(const Digest& trees_before, uint32_t tree, std::span<const Bytes> levels);

// How many ciphertexts one message takes.
constexpr size_t ciphertexts_of_message(size_t ciphertext_bytes) {
  return (kMessageBytesMax - kTreeHeaderBytes) / ciphertext_bytes;
}

}  // namespace coterie::vertical

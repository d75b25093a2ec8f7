// Opening: from the shares that survivors give to the masks that must be taken off the sum.
//
// A survivor's own mask, and a vanished device's masks with its surviving neighbours, are still in the sum. Their seeds
// come from shares of which some may be wrong: what a device committed to in its advert (the hash of its own mask's
// seed, the public half of its mask key) tells; wrong ones are corrected as far as there are shares to spare, and
// whoever gave them is named.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/x25519.h"
#include "secure/mask/mask_sum.h"
#include "secure/secret_sharing/reconstruction.h"

namespace coterie::secagg {

// A mask that is in the sum, and the sign that takes it off.
struct SumMask {
  Secret<32> seed;
  MaskSign sign = MaskSign::minus;
};

struct OpenedMasks {
  std::vector<SumMask> masks;
  std::vector<uint32_t> blamed;  // devices that gave a wrong share, ascending
};

// The masks as a sum to be applied to any range of lanes of the sum of the updates. Its bits from ring_bits on are then
// to be cleared.
Result<MaskSum> to_mask_sum(CipherSuite suite, std::span<const SumMask> masks);

class Opening {
 public:
  // A neighbour that survived, of a device that did not.
  struct Partner {
    uint32_t device = 0;
    Key32 mask_key{};
  };
  struct Target {
    uint32_t device = 0;
    ShareKind kind = ShareKind::seed;
    Key32 mask_key{};               // as advertised
    Digest seed_commitment;         // as advertised
    std::vector<Partner> partners;  // of one that vanished
  };

  Opening(const Digest& context, const Digest& session, uint32_t threshold, std::vector<Target> targets);

  // A share of that device's secret, from `holder`, whose place among its holders is x - 1. Nothing if it is no target:
  // then its secret is not needed.
  void add(uint32_t device, uint32_t holder, uint8_t x, const std::array<uint8_t, 32>& value);
  // Whether there are `threshold` shares of each target.
  bool is_complete() const { return incomplete_ == 0; }
  size_t target_count() const { return targets_.size(); }

  // Opens the targets of part `part` of `parts`, for one thread: const and thread-safe. bad_shares (too many wrong to
  // tell the secret) or commitment_mismatch (its dealer shared another one than it advertised) name the device; then
  // the sum is lost. Expects is_complete().
  Result<OpenedMasks> open(size_t part = 0, size_t parts = 1) const;

 private:
  struct HeldShare {
    uint32_t holder = 0;
    uint8_t x = 0;
    Secret<32> value;
  };
  struct Entry {
    Target target;
    std::vector<HeldShare> shares;
  };
  class Solver;

  Status open_target(const Entry& entry, Solver& solver, OpenedMasks& opened) const;

  Digest context_, session_;
  uint32_t threshold_;
  std::vector<Entry> targets_;
  std::map<uint32_t, size_t> index_;  // by device
  size_t incomplete_;
};

}  // namespace coterie::secagg

#include "secure/secagg/opening.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/assert.h"
#include "secure/secagg/advert.h"
#include "secure/secagg/fault.h"
#include "secure/secagg/pairing.h"

namespace coterie::secagg {

Result<MaskSum> to_mask_sum(CipherSuite suite, std::span<const SumMask> masks) {
  COT_ASSIGN(MaskSum sum, MaskSum::make(suite));
  for (const SumMask& mask : masks) COT_TRY(sum.add(mask.seed, mask.sign));
  return sum;
}

// In a complete graph all secrets come from shares of the same holders: their weights are computed once.
class Opening::Solver {
 public:
  explicit Solver(uint32_t threshold) : threshold_(threshold) {}

  Result<Secret<32>> solve(const Entry& entry, const Survivors::Check& check, std::vector<uint32_t>& blamed) {
    std::vector<uint8_t> xs;
    std::vector<Share> shares;
    for (const HeldShare& share : entry.shares) {
      xs.push_back(share.x);
      shares.push_back({share.x, share.value.reveal()});
    }
    if (!survivors_ || xs != xs_) {
      COT_ASSIGN(survivors_, Survivors::make(threshold_, xs));
      xs_ = std::move(xs);
    }
    // Mostly no share is wrong, and what was advertised of the secret shows it. Looking for wrong ones costs far more.
    COT_ASSIGN(Secret<32> secret, survivors_->reconstruct(shares));
    if (check(secret)) return secret;
    return correct(entry, shares, check, blamed);
  }

 private:
  Result<Secret<32>> correct(const Entry& entry, std::span<const Share> shares, const Survivors::Check& check,
                             std::vector<uint32_t>& blamed) const {
    const std::string device = "device " + std::to_string(entry.target.device);
    Result<Survivors::Corrected> corrected = survivors_->correct(shares);
    if (!corrected) {
      return fault(Fault::bad_shares, "more than " + std::to_string(survivors_->bad_shares_max()) + " of " +
                                          std::to_string(shares.size()) + " shares of " + device +
                                          "'s secret are wrong");
    }
    for (const HeldShare& share : entry.shares) {
      if (std::ranges::binary_search(corrected->bad, share.x)) blamed.push_back(share.holder);
    }
    if (!check(corrected->secret)) {
      return fault(Fault::commitment_mismatch, device + " shared another secret than it advertised, or more than " +
                                                   std::to_string(survivors_->bad_shares_max()) +
                                                   " of its holders lie alike");
    }
    return std::move(corrected->secret);
  }

  uint32_t threshold_;
  std::vector<uint8_t> xs_;
  std::optional<Survivors> survivors_;
};

Opening::Opening(const Digest& context, const Digest& session, uint32_t threshold, std::vector<Target> targets)
    : context_(context), session_(session), threshold_(threshold), incomplete_(targets.size()) {
  for (Target& target : targets) {
    index_.emplace(target.device, targets_.size());
    targets_.push_back({std::move(target), {}});
  }
}

void Opening::add(uint32_t device, uint32_t holder, uint8_t x, const std::array<uint8_t, 32>& value) {
  const auto found = index_.find(device);
  if (found == index_.end()) return;
  std::vector<HeldShare>& shares = targets_[found->second].shares;
  // In order of x, so that the order of arrival does not matter.
  const auto place = std::ranges::lower_bound(shares, x, {}, &HeldShare::x);
  COT_ASSERT(place == shares.end() || place->x != x);
  shares.insert(place, {holder, x, Secret<32>(value)});
  if (shares.size() == threshold_) --incomplete_;
}

Status Opening::open_target(const Entry& entry, Solver& solver, OpenedMasks& opened) const {
  const Target& target = entry.target;
  if (target.kind == ShareKind::seed) {
    const auto is_committed_to = [&](const Secret<32>& seed) {
      return seed_commitment(context_, seed) == target.seed_commitment;
    };
    COT_ASSIGN(const Secret<32> seed, solver.solve(entry, is_committed_to, opened.blamed));
    opened.masks.push_back({own_mask_seed(session_, seed), MaskSign::minus});
    return {};
  }
  std::optional<X25519KeyPair> pair;
  const auto is_of_public_key = [&](const Secret<32>& secret) {
    pair.emplace(Secret<32>(secret.reveal()));
    return pair->public_key().bytes == target.mask_key;
  };
  COT_TRY(solver.solve(entry, is_of_public_key, opened.blamed));
  for (const Partner& partner : target.partners) {
    COT_ASSIGN(Secret<32> seed, pair_mask_seed(session_, *pair, partner.mask_key, target.device, partner.device));
    // The vanished device's own update is not in the sum. What is in it are its pair masks, with its partners' signs.
    opened.masks.push_back({std::move(seed), opposite(pair_mask_sign(partner.device, target.device))});
  }
  return {};
}

Result<OpenedMasks> Opening::open(size_t part, size_t parts) const {
  COT_ASSERT(is_complete() && part < parts);
  OpenedMasks opened;
  Solver solver(threshold_);
  for (size_t i = part; i < targets_.size(); i += parts) COT_TRY(open_target(targets_[i], solver, opened));
  std::ranges::sort(opened.blamed);
  opened.blamed.erase(std::ranges::unique(opened.blamed).begin(), opened.blamed.end());
  return opened;
}

}  // namespace coterie::secagg

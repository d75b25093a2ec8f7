#include "secure/secret_sharing/reconstruction.h"

#include <algorithm>
#include <bitset>
#include <string>

#include "secure/secret_sharing/bad_shares.h"
#include "secure/secret_sharing/gf256_rows.h"
#include "secure/secret_sharing/lagrange.h"

namespace coterie {
namespace {

std::vector<const uint8_t*> rows_of(std::span<const Share> shares) {
  std::vector<const uint8_t*> rows;
  rows.reserve(shares.size());
  for (const Share& share : shares) rows.push_back(share.value.data());
  return rows;
}

Secret<32> combined(std::span<const uint8_t> weights, std::span<const uint8_t* const> rows) {
  Secret<32> secret;
  gf256::row_kernels().combine(weights, rows.data(), secret.mutable_bytes().data());
  return secret;
}

std::string number(size_t value) { return std::to_string(value); }

}  // namespace

Survivors::Survivors(size_t threshold, std::vector<uint8_t> xs)
    : threshold_(threshold), xs_(std::move(xs)), weights_(weights_at_zero(std::span(xs_).first(threshold))) {}

Result<Survivors> Survivors::make(size_t threshold, std::vector<uint8_t> xs) {
  if (threshold == 0) return Error(ErrorCode::invalid_argument, "the threshold of a shared secret must be at least 1");
  std::bitset<kSharesMax + 1> seen;
  for (const uint8_t x : xs) {
    // Whoever might put a share at 0 would say what the secret is.
    if (x == 0) return Error(ErrorCode::malformed, "a share has x = 0, where the secret itself is; must be 1 to 255");
    if (seen[x]) return Error(ErrorCode::malformed, "two shares have the same x = " + number(x));
    seen[x] = true;
  }
  if (xs.size() < threshold) {
    return Error(ErrorCode::malformed,
                 number(xs.size()) + " shares are too few: " + number(threshold) + " restore the secret");
  }
  return Survivors(threshold, std::move(xs));
}

Status Survivors::check_shares(std::span<const Share> shares) const {
  if (shares.size() != xs_.size()) {
    return Error(ErrorCode::malformed, number(shares.size()) + " shares of " + number(xs_.size()) + " survivors");
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].x != xs_[i]) {
      return Error(ErrorCode::malformed,
                   "a share has x = " + number(shares[i].x) + " where the survivor's is " + number(xs_[i]));
    }
    if (shares[i].value.size() != kShareBytes) {
      return Error(ErrorCode::malformed, "the share at x = " + number(xs_[i]) + " has " +
                                             number(shares[i].value.size()) + " bytes, expected 32");
    }
  }
  return {};
}

Result<Secret<32>> Survivors::reconstruct(std::span<const Share> shares) const {
  COT_TRY(check_shares(shares));
  return combined(weights_, rows_of(shares.first(threshold_)));
}

Result<Survivors::Corrected> Survivors::correct(std::span<const Share> shares, const Check& check) const {
  COT_TRY(check_shares(shares));
  const std::vector<const uint8_t*> rows = rows_of(shares);
  const auto bad = find_bad_shares(threshold_, bad_shares_max(), xs_, rows);
  // Each byte may have had other bad shares, so that all together are too many: what they leave is right if the check
  // says so, and dubious without.
  const size_t left_min = check ? threshold_ : shares.size() - bad_shares_max();
  if (!bad || shares.size() - bad->size() < left_min) {
    return Error(ErrorCode::data_loss, "too many of " + number(shares.size()) +
                                           " shares contradict each other; with a threshold of " + number(threshold_) +
                                           " at most " + number(bad_shares_max()) + " may be bad");
  }
  std::vector<uint8_t> good_xs, bad_xs;
  std::vector<const uint8_t*> good_rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (std::ranges::binary_search(*bad, i)) {
      bad_xs.push_back(xs_[i]);
    } else if (good_xs.size() < threshold_) {
      good_xs.push_back(xs_[i]);
      good_rows.push_back(rows[i]);
    }
  }
  std::ranges::sort(bad_xs);
  Corrected corrected{combined(weights_at_zero(good_xs), good_rows), std::move(bad_xs)};
  if (check && !check(corrected.secret)) {
    return Error(ErrorCode::data_loss,
                 "the shares agree on a secret that is not the one committed to: who dealt them "
                 "lied, or more than " +
                     number(bad_shares_max()) + " are bad");
  }
  return corrected;
}

}  // namespace coterie

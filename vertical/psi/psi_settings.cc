#include "vertical/psi/psi_settings.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "secure/crypto/digest.h"
#include "secure/crypto/domain_fields.h"

namespace coterie::vertical {
namespace {

constexpr size_t kIdTypeBytesMax = 64;
constexpr int kCollisionBits = 40;

}  // namespace

Status check_psi_settings(const PsiSettings& settings) {
  if (settings.id_type.empty() || settings.id_type.size() > kIdTypeBytesMax) {
    return Error(ErrorCode::invalid_argument, "id_type must have 1 to " + std::to_string(kIdTypeBytesMax) +
                                                  " bytes, has " + std::to_string(settings.id_type.size()));
  }
  if (settings.bucket_items < 1 || settings.bucket_items > kPsiBucketItemsMax) {
    return Error(ErrorCode::invalid_argument, "bucket_items must be from 1 to " + std::to_string(kPsiBucketItemsMax) +
                                                  ", is " + std::to_string(settings.bucket_items));
  }
  return {};
}

Digest psi_settings_digest(const PsiSettings& settings) {
  DomainFields fields("coterie/v1/psi-settings");
  fields.add(ByteView(settings.salt)).add(settings.id_type);
  fields.add(settings.bucket_items).add(settings.intersection_min);
  return content_digest(fields.view());
}

uint32_t psi_bucket_count(const PsiSettings& settings, uint64_t items, uint64_t peer_items) {
  const uint64_t larger = std::max<uint64_t>({items, peer_items, 1});
  return static_cast<uint32_t>(std::min((larger + settings.bucket_items - 1) / settings.bucket_items, kPsiBucketsMax));
}

uint64_t psi_bucket_size_max(uint64_t items, uint32_t buckets) {
  // Twelve deviations of a binomial count above the mean: chance does not get there, only a hash that is not the agreed
  // one.
  const double mean = static_cast<double>(items) / static_cast<double>(buckets);
  return std::min(items, static_cast<uint64_t>(std::ceil(mean + 12 * std::sqrt(mean))) + 64);
}

size_t psi_tag_bytes(uint64_t items, uint64_t peer_items) {
  // bit_width(n - 1) is log2(n), rounded up.
  const auto log2 = [](uint64_t n) { return n < 2 ? 0 : static_cast<int>(std::bit_width(n - 1)); };
  // A tag of b bits collides for some pair with probability items * peer_items / 2^b: at most 2^-40.
  return kCollisionBits + log2(items) + log2(peer_items) <= 96 ? 12 : 16;
}

}  // namespace coterie::vertical

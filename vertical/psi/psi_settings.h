// What both parties of a matching of ids must agree on; it is a part of the job's manifest.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::vertical {

constexpr uint64_t kPsiItemsMax = uint64_t{1} << 30;  // of a party
constexpr uint64_t kPsiBucketItemsMax = uint64_t{1} << 22;
constexpr uint64_t kPsiBucketsMax = uint64_t{1} << 16;  // a peer's word alone makes no larger table of buckets

struct PsiSettings {
  // The job's, so that what is seen of one job is of no use in another.
  std::array<uint8_t, 32> salt{};
  // What an id is ("customer number"); it is compared, never interpreted.
  std::string id_type = "id";
  // A bucket of the larger party has about so many items: the memory of a party goes with it.
  uint64_t bucket_items = uint64_t{1} << 16;
  // A smaller intersection is refused: what is learned over few people is about each one of them.
  uint64_t intersection_min = 100;
};

// invalid_argument names the setting, what it may be and what it is.
Status check_psi_settings(const PsiSettings& settings);

// The name of all settings together.
Digest psi_settings_digest(const PsiSettings& settings);

// Into how many buckets sets of these sizes are cut: from 1 to kPsiBucketsMax.
uint32_t psi_bucket_count(const PsiSettings& settings, uint64_t items, uint64_t peer_items);

// How many items a bucket has at most where `items` different ids are cut into `buckets`: the mean m + 12 sqrt(m) + 64,
// which a Poisson variable passes with probability below 2^-90. Whoever sends more did not cut by the hash.
uint64_t psi_bucket_size_max(uint64_t items, uint32_t buckets);

// How many bytes a tag needs so that two different ids of sets of these sizes share one with probability below 2^-40:
// 40 + log2(items * peer_items) bits, 96 or 128.
size_t psi_tag_bytes(uint64_t items, uint64_t peer_items);

}  // namespace coterie::vertical

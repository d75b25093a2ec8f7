#include "vertical/psi/blinded_lists.h"

#include <algorithm>
#include <string>

#include "base/assert.h"

namespace coterie::vertical {
namespace {

constexpr size_t kBlindedAtOnce = 1024;  // hashes of 64 bytes beside a message

}  // namespace

void write_blinded(const Blinding& blinding, const PsiSettings& settings, const IdSet& ids,
                   std::span<const uint32_t> rows, std::span<uint8_t> out) {
  std::vector<RistrettoHash> hashes;
  std::vector<RistrettoElement> products;
  for (size_t first = 0; first < rows.size(); first += kBlindedAtOnce) {
    const size_t count = std::min(kBlindedAtOnce, rows.size() - first);
    hashes.clear();
    for (const uint32_t row : rows.subspan(first, count)) hashes.push_back(psi_hash(settings.salt, ids.id(row)));
    products.resize(count);
    // Neutral only if the key or a hash is, once in 2^252.
    COT_ASSERT(blinding.blind_hashes(hashes, products) == count);
    for (size_t i = 0; i < count; ++i) {
      std::ranges::copy(products[i].bytes, out.subspan((first + i) * products[i].bytes.size()).begin());
    }
  }
}

Result<std::vector<RistrettoElement>> multiplied(const Blinding& blinding, ByteView elements, uint32_t bucket,
                                                 size_t place) {
  std::vector<RistrettoElement> received(elements.size() / sizeof(RistrettoElement)), products(received.size());
  for (size_t i = 0; i < received.size(); ++i) {
    std::ranges::copy(elements.subspan(i * sizeof(RistrettoElement), sizeof(RistrettoElement)),
                      received[i].bytes.begin());
  }
  // Every element of the peer is decoded, which refuses what is no point of the group: a point of small order would
  // show bits of this party's key.
  const size_t good = blinding.blind_each(received, products);
  if (good == received.size()) return products;
  const Result<RistrettoElement> bad = blinding.blind(received[good]);
  COT_ASSERT(!bad.has_value());  // both ways to multiply refuse the same elements
  return bad.error().with_context("bucket " + std::to_string(bucket) + ", entry " + std::to_string(place + good));
}

}  // namespace coterie::vertical

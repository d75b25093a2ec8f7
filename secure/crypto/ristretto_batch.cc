#include "secure/crypto/ristretto_batch.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "secure/crypto/cpu_ifma.h"
#include "secure/crypto/ristretto_kernel.h"

namespace coterie {
namespace {

size_t multiply_by_sodium(const RistrettoScalar& scalar, std::span<const RistrettoElement> elements,
                          std::span<RistrettoElement> products) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const Result<RistrettoElement> product = ristretto_multiply(scalar, elements[i]);
    if (!product) return i;
    products[i] = *product;
  }
  return elements.size();
}

size_t multiply_hashes_by_sodium(const RistrettoScalar& scalar, std::span<const RistrettoHash> hashes,
                                 std::span<RistrettoElement> products) {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const Result<RistrettoElement> product = ristretto_multiply(scalar, ristretto_from_hash(hashes[i]));
    if (!product) return i;
    products[i] = *product;
  }
  return hashes.size();
}

constexpr RistrettoKernel kSodium = {"libsodium", multiply_by_sodium, multiply_hashes_by_sodium};

std::atomic<const RistrettoKernel*> forced_kernel = nullptr;

const RistrettoKernel& kernel_to_use() {
  static const RistrettoKernel& chosen = choose_ristretto_kernel(ristretto_kernels());
  const RistrettoKernel* const forced = forced_kernel.load(std::memory_order_relaxed);
  return forced != nullptr ? *forced : chosen;
}

Error wrong(const RistrettoKernel& kernel, const std::string& what) {
  return Error(ErrorCode::internal, "the ristretto255 kernel " + std::string(kernel.name) + " gets " + what +
                                        " wrong: this processor or this build cannot be trusted with it");
}

// Uniform bytes that anybody can make again.
RistrettoHash test_hash(uint8_t number) {
  return ristretto_message_hash({as_bytes("coterie self test"), {&number, 1}});
}

// Not encodings, each for a reason of its own (RFC 9496, appendix A.2): not below p twice, negative, no square, x y
// negative, y = 0; and the generator's with the highest bit set.
constexpr std::string_view kRefused[] = {"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                         "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                         "0100000000000000000000000000000000000000000000000000000000000000",
                                         "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
                                         "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
                                         "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                         "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2df6"};

RistrettoElement element_of(std::string_view hex) {
  RistrettoElement element;
  const auto bytes = from_hex(hex);
  COT_ASSERT(bytes.has_value() && bytes->size() == element.bytes.size());
  std::ranges::copy(*bytes, element.bytes.begin());
  return element;
}

}  // namespace

std::span<const RistrettoKernel> ristretto_kernels() {
  static const std::vector<RistrettoKernel> kernels = [] {
    std::vector<RistrettoKernel> all;
#if COT_HAS_X86_TARGETS
    if (cpu_has_ifma()) all.push_back(kIfmaRistretto);
#endif
    all.push_back(kSodium);
    return all;
  }();
  return kernels;
}

Status ristretto_self_test(const RistrettoKernel& kernel) {
  constexpr size_t kCount = 11;  // eight and three
  std::vector<RistrettoHash> hashes;
  for (uint8_t i = 0; i < kCount; ++i) hashes.push_back(test_hash(i));
  for (uint8_t turn = 0; turn < 2; ++turn) {
    const RistrettoScalar scalar = ristretto_scalar_from_hash(test_hash(static_cast<uint8_t>(100 + turn)));
    std::vector<RistrettoElement> expected(kCount), products(kCount), twice(kCount);
    COT_ASSERT(kSodium.multiply_hashes(scalar, hashes, expected) == kCount);
    if (kernel.multiply_hashes(scalar, hashes, products) != kCount || products != expected) {
      return wrong(kernel, "products of hashes");
    }
    COT_ASSERT(kSodium.multiply(scalar, products, expected) == kCount);
    if (kernel.multiply(scalar, products, twice) != kCount || twice != expected) return wrong(kernel, "products");
    // What must be refused, at the place where it lies.
    std::vector<RistrettoElement> with_bad = products;
    for (size_t i = 0; i <= std::size(kRefused); ++i) {
      // The last of them is the neutral element.
      const RistrettoElement bad = i < std::size(kRefused) ? element_of(kRefused[i]) : RistrettoElement();
      const size_t place = (3 * i + turn) % kCount;
      const RistrettoElement good = std::exchange(with_bad[place], bad);
      if (kernel.multiply(scalar, with_bad, twice) != place) {
        return wrong(kernel, "what is refused (" + to_hex(bad.view()) + ")");
      }
      with_bad[place] = good;
    }
  }
  return {};
}

const RistrettoKernel& choose_ristretto_kernel(std::span<const RistrettoKernel> kernels) {
  for (const RistrettoKernel& kernel : kernels) {
    if (ristretto_self_test(kernel)) return kernel;
  }
  return kernels.back();
}

void force_ristretto_kernel(const RistrettoKernel* kernel) { forced_kernel = kernel; }

size_t ristretto_multiply_each(const RistrettoScalar& scalar, std::span<const RistrettoElement> elements,
                               std::span<RistrettoElement> products) {
  COT_ASSERT(products.size() == elements.size());
  return kernel_to_use().multiply(scalar, elements, products);
}

size_t ristretto_multiply_hashes(const RistrettoScalar& scalar, std::span<const RistrettoHash> hashes,
                                 std::span<RistrettoElement> products) {
  COT_ASSERT(products.size() == hashes.size());
  return kernel_to_use().multiply_hashes(scalar, hashes, products);
}

}  // namespace coterie

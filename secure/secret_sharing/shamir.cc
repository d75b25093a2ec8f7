#include "secure/secret_sharing/shamir.h"

#include <algorithm>
#include <string>

#include "secure/secret_sharing/gf256_rows.h"

namespace coterie {

static_assert(kShareBytes == gf256::kRowBytes);
static_assert(kSharesMax * kShareBytes <= kLockedSlotBytesMax);

Result<Shares> split(const Secret<32>& secret, size_t threshold, size_t count,
                     const std::function<void(std::span<uint8_t>)>& random) {
  if (threshold == 0 || threshold > count || count > kSharesMax) {
    return Error(ErrorCode::invalid_argument, "cannot share a secret among " + std::to_string(count) + " so that " +
                                                  std::to_string(threshold) +
                                                  " restore it; must be 1 <= threshold <= count <= 255");
  }
  // Rows [threshold, 32]: byte b of all rows is a polynomial of its own over GF(2^8). Row 0 is the secret, its value at
  // x = 0; the others are random.
  LockedBytes coefficients(threshold * kShareBytes);
  const std::span<uint8_t> rows = coefficients.mutable_bytes();
  std::ranges::copy(secret.reveal(), rows.begin());
  if (threshold > 1) random(rows.subspan(kShareBytes));
  Shares shares(count);
  gf256::row_kernels().evaluate(rows, shares.values_.mutable_bytes());
  return shares;
}

}  // namespace coterie

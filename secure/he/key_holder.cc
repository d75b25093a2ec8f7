#include "secure/he/key_holder.h"

#include <algorithm>

#include "base/assert.h"
#include "secure/he/lane_kernel.h"

namespace coterie::he {

KeyHolder::KeyHolder(Big n, Modulo ciphertexts, const Secret<32>& seed, std::string_view purpose)
    : context_(big_context()), random_(seed, purpose), modulus_(std::move(n), ciphertexts, context_) {}

Bytes KeyHolder::public_key() const {
  Bytes bytes(modulus_.n_bytes);
  write_big(modulus_.n, bytes);
  return bytes;
}

void KeyHolder::encrypt_each(std::span<const PlainNumber> numbers, std::span<uint8_t> out) {
  const size_t bytes = ciphertext_bytes();
  COT_ASSERT(out.size() == numbers.size() * bytes);
  while (!numbers.empty()) {
    const size_t count = std::min(kLanes, numbers.size());
    for (const Big& ciphertext : encrypt_block(numbers.first(count))) {
      write_big(ciphertext, out.first(bytes));
      out = out.subspan(bytes);
    }
    numbers = numbers.subspan(count);
  }
}

}  // namespace coterie::he

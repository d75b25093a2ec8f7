#include "secure/he/seed_stream.h"

#include <algorithm>

#include "secure/crypto/hkdf.h"

namespace coterie::he {
namespace {

constexpr size_t kBufferBytes = 4096;

KeyStream stream_of(const Secret<32>& seed, std::string_view purpose) {
  auto stream = KeyStream::make(CipherSuite::chacha20, hkdf<32>({}, seed.reveal(), as_bytes(purpose)));
  COT_ASSERT(stream.has_value());  // libcrypto always has ChaCha20
  return std::move(*stream);
}

}  // namespace

SeedStream::SeedStream(const Secret<32>& seed, std::string_view purpose)
    : stream_(stream_of(seed, purpose)), buffer_(kBufferBytes), used_(kBufferBytes) {}

void SeedStream::fill(std::span<uint8_t> out) {
  while (!out.empty()) {
    if (used_ == buffer_.size()) {
      stream_.write(offset_, buffer_);
      offset_ += buffer_.size();
      used_ = 0;
    }
    const size_t count = std::min(out.size(), buffer_.size() - used_);
    std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(used_), count, out.begin());
    std::fill_n(buffer_.begin() + static_cast<ptrdiff_t>(used_), count, uint8_t{0});  // each byte serves once
    used_ += count;
    out = out.subspan(count);
  }
}

Big SeedStream::bits(size_t bits) {
  Bytes bytes((bits + 7) / 8);
  fill(bytes);
  if (bits % 8 != 0) bytes[0] = static_cast<uint8_t>(bytes[0] & ((1u << (bits % 8)) - 1));
  Big number = big_from(bytes);
  wipe(bytes);
  return number;
}

Big SeedStream::below(const Big& bound, const BigContext& context) {
  Big wide = bits(static_cast<size_t>(BN_num_bits(bound.get())) + 128);
  Big number = secret_big();
  must(BN_mod(number.get(), wide.get(), bound.get(), context.get()) == 1);
  return number;
}

}  // namespace coterie::he

// An encrypted checkpoint's shell, under a cipher that hides nothing and whose tag mutations can get right: what opens
// is exactly what sealing it again gives, whatever its pieces. Then the input as a text: it survives sealing.
#include <algorithm>
#include <array>

#include "base/assert.h"
#include "device_sdk/runtime/sealed_text.h"

namespace {

using namespace coterie;

// The tag: the text's sum, by the context's and the nonce's.
class PlainCipher final : public AuthenticatedCipher {
 public:
  explicit PlainCipher(ByteView random) : random_(random.begin(), random.end()) {}

  void fill_random(std::span<uint8_t> bytes) const override {
    std::fill(bytes.begin(), bytes.end(), 0);
    std::copy_n(random_.begin(), std::min(random_.size(), bytes.size()), bytes.begin());
  }
  void seal(Nonce nonce, ByteView context, std::span<uint8_t> text,
            std::span<uint8_t, kCipherTagBytes> tag) const override {
    std::fill(tag.begin(), tag.end(), 0);
    tag[0] = sum(text), tag[1] = sum(context), tag[2] = sum(nonce);
  }
  bool open(Nonce nonce, ByteView context, std::span<uint8_t> text,
            std::span<const uint8_t, kCipherTagBytes> tag) const override {
    std::array<uint8_t, kCipherTagBytes> expected;
    seal(nonce, context, text, expected);
    return std::equal(tag.begin(), tag.end(), expected.begin());
  }

 private:
  static uint8_t sum(ByteView bytes) {
    uint8_t all = 0;
    for (const uint8_t byte : bytes) all = static_cast<uint8_t>(31 * all + byte);
    return all;
  }
  Bytes random_;
};

Bytes sealed(ByteView text, const Digest& subject, ByteView random) {
  Bytes file;
  const PlainCipher cipher(random);
  Sealer sealer(cipher, subject, text.size(), [&file](ByteView piece) {
    file.insert(file.end(), piece.begin(), piece.end());
    return Status();
  });
  COT_ASSERT(sealer.write(text) && sealer.finish());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  Digest subject;
  subject.bytes.fill(0x55);
  const auto text = open_sealed(Bytes(input.begin(), input.end()), PlainCipher({}), subject);
  if (text && !text->empty()) {
    COT_ASSERT(is_sealed(input));
    const Bytes again = sealed(*text, subject, input.subspan(40, 16));
    COT_ASSERT(std::equal(again.begin(), again.end(), input.begin(), input.end()));
  }
  if (input.empty()) return 0;
  const Bytes file = sealed(input, subject, input.first(std::min<size_t>(size, 16)));
  COT_ASSERT(file.size() == sealed_bytes(size));
  const auto back = open_sealed(file, PlainCipher({}), subject);
  COT_ASSERT(back && std::equal(back->begin(), back->end(), input.begin(), input.end()));
  return 0;
}

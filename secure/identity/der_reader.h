// DerReader: DER (X.690) one element at a time, for structures of which few members matter. Strict where a lax reader
// and this one could see different things: lengths are definite and minimal, tags are in their shortest form, numbers
// and truth values have their one encoding. No recursion: nesting is the caller's code, so a bounded depth.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

enum class DerClass : uint8_t { universal = 0, application = 1, context = 2, priv = 3 };

inline constexpr uint32_t kDerTagMax = (1u << 21) - 1;  // three bytes of seven bits: platforms use up to 724

struct DerElement {
  DerClass tag_class = DerClass::universal;
  bool is_constructed = false;
  uint32_t tag = 0;
  ByteView content;
};

class DerReader {
 public:
  // `what` names the structure in errors. Both outlive the reader.
  DerReader(ByteView bytes, std::string_view what) : rest_(bytes), what_(what) {}

  bool at_end() const { return rest_.empty(); }
  // The next element, whatever it is. malformed.
  Result<DerElement> next();

  // The next element, which must be this one. malformed.
  Result<DerReader> sequence(std::string_view name);
  Result<DerReader> set(std::string_view name);
  Result<ByteView> octets(std::string_view name);
  Result<uint64_t> integer(std::string_view name);     // not negative, at most 64 bits
  Result<uint64_t> enumerated(std::string_view name);  // likewise
  Result<bool> boolean(std::string_view name);
  // malformed if anything is left.
  Status end() const;

  Error malformed(const std::string& problem) const;

 private:
  Result<uint32_t> long_tag();
  Result<size_t> length();
  Result<uint8_t> byte();
  Result<ByteView> universal(std::string_view name, uint32_t tag, bool is_constructed);
  Result<uint64_t> number(std::string_view name, uint32_t tag);

  ByteView rest_;
  std::string_view what_;
};

}  // namespace coterie

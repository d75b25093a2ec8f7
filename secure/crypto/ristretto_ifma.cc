#include "secure/crypto/ristretto_kernel.h"

#include "secure/crypto/cpu_ifma.h"

#if COT_HAS_X86_TARGETS
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "secure/crypto/field25519_inl.h"
#include "secure/crypto/ristretto_encoding.h"

namespace coterie {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kDigits = 64;  // of a scalar, each from -8 to 8

// On the curve -x^2 + y^2 = 1 + d x^2 y^2: x = X / Z, y = Y / Z, T = X Y / Z (Hisil et al., Asiacrypt 2008).
struct Point {
  Field x, y, z, t;
};
// What is added to a point: Y + X, Y - X, 2 Z, 2 d T.
struct Addend {
  Field sum, difference, z2, dt2;
};

COT_LANES [[gnu::noinline]] Addend addend_of(const Point& p) {
  return {add(p.y, p.x), subtract(p.y, p.x), add(p.z, p.z), multiply(p.t, field_of(kTwiceD))};
}

// T only where it is read next: a doubling does not.
COT_LANES_INLINE Point point_of(const Field& e, const Field& f, const Field& g, const Field& h, bool with_t) {
  return {multiply(e, f), multiply(g, h), multiply(f, g), with_t ? multiply(e, h) : field_of(kZero)};
}

COT_LANES [[gnu::noinline]] Point doubled(const Point& p, bool with_t) {
  const Field a = square(p.x), b = square(p.y), z = square(p.z);
  const Field h = add(a, b), g = subtract(a, b);
  return point_of(subtract(h, square(add(p.x, p.y))), add(add(z, z), g), g, h, with_t);
}

COT_LANES [[gnu::noinline]] Point added(const Point& p, const Addend& q, bool with_t) {
  const Field a = multiply(subtract(p.y, p.x), q.difference), b = multiply(add(p.y, p.x), q.sum);
  const Field c = multiply(p.t, q.dt2), d = multiply(p.z, q.z2);
  return point_of(subtract(b, a), subtract(d, c), add(d, c), add(b, a), with_t);
}

// The digits of a scalar below 2^255, the least first.
void write_digits(const RistrettoScalar& scalar, std::array<int8_t, kDigits>& digits) {
  int carry = 0;
  for (size_t i = 0; i < kDigits; ++i) {
    const unsigned byte = scalar.reveal()[i / 2] & (i / 2 == 31 ? 0x7fu : 0xffu);
    const int value = static_cast<int>(byte >> (4 * (i % 2)) & 15) + carry;
    carry = i + 1 < kDigits ? (value + 8) >> 4 : 0;
    digits[i] = static_cast<int8_t>(value - 16 * carry);
  }
}

// All ones where a and b are equal, by arithmetic: a compiler may turn a comparison and a load into a masked load,
// whose time could depend on the mask.
COT_LANES_INLINE Vector ones_if_equal(uint64_t a, uint64_t b) {
  return _mm512_srai_epi64(_mm512_sub_epi64(_mm512_xor_si512(vector_of(a), vector_of(b)), vector_of(1)), 63);
}
// found | (value & mask)
COT_LANES_INLINE void add_selected(Field& found, const Field& value, Vector mask) {
  for (int i = 0; i < 5; ++i) {
    found.limb[i] = _mm512_ternarylogic_epi64(found.limb[i], value.limb[i], mask, 0xf8);
  }
}

// digit times the point of which `table` holds 0 to 8 times. All of the table is read.
COT_LANES [[gnu::noinline]] Addend selected(const Addend (&table)[9], int digit) {
  const auto sign = static_cast<uint64_t>(static_cast<int64_t>(digit) >> 63);  // all ones, or none
  const uint64_t size = (static_cast<uint64_t>(static_cast<int64_t>(digit)) ^ sign) - sign;
  const Field zero = field_of(kZero);
  Addend found = {zero, zero, zero, zero};
  for (uint64_t i = 0; i < 9; ++i) {
    const Vector mask = ones_if_equal(i, size);
    add_selected(found.sum, table[i].sum, mask);
    add_selected(found.difference, table[i].difference, mask);
    add_selected(found.z2, table[i].z2, mask);
    add_selected(found.dt2, table[i].dt2, mask);
  }
  const Vector negative = vector_of(sign), positive = vector_of(~sign);
  Addend result = {zero, zero, found.z2, zero};
  add_selected(result.sum, found.sum, positive);
  add_selected(result.sum, found.difference, negative);
  add_selected(result.difference, found.difference, positive);
  add_selected(result.difference, found.sum, negative);
  add_selected(result.dt2, found.dt2, positive);
  add_selected(result.dt2, negate(found.dt2), negative);
  return result;
}

COT_LANES Point multiple(const Point& p, const std::array<int8_t, kDigits>& digits) {
  const Field zero = field_of(kZero), one = field_of(kOne);
  Addend table[9];
  table[0] = {one, one, add(one, one), zero};
  table[1] = addend_of(p);
  Point next = p;
  for (int i = 2; i < 9; ++i) {
    next = added(next, table[1], true);
    table[i] = addend_of(next);
  }
  Point sum = {zero, one, one, zero};
  sum = added(sum, selected(table, digits[kDigits - 1]), false);
  for (size_t i = kDigits - 1; i-- > 0;) {
    for (int k = 0; k < 4; ++k) sum = doubled(sum, k == 3);
    sum = added(sum, selected(table, digits[i]), i == 0);
  }
  return sum;
}

using Encodings = uint64_t[5][kLanes];  // [limb][lane]

// The number that 255 bits are.
void read_limbs(const uint8_t* bytes, size_t lane, Encodings& limbs) {
  uint64_t words[4];
  std::memcpy(words, bytes, sizeof(words));  // x86-64 is little-endian
  limbs[0][lane] = words[0] & kLimbMask;
  limbs[1][lane] = (words[0] >> 51 | words[1] << 13) & kLimbMask;
  limbs[2][lane] = (words[1] >> 38 | words[2] << 26) & kLimbMask;
  limbs[3][lane] = (words[2] >> 25 | words[3] << 39) & kLimbMask;
  limbs[4][lane] = words[3] >> 12 & kLimbMask;
}
void write_bytes(const Encodings& limbs, size_t lane, uint8_t* bytes) {
  const uint64_t words[4] = {limbs[0][lane] | limbs[1][lane] << 51, limbs[1][lane] >> 13 | limbs[2][lane] << 38,
                             limbs[2][lane] >> 26 | limbs[3][lane] << 25, limbs[3][lane] >> 39 | limbs[4][lane] << 12};
  std::memcpy(bytes, words, sizeof(words));
}
COT_LANES Field field_of_lanes(const Encodings& limbs) {
  Field r;
  for (int i = 0; i < 5; ++i) r.limb[i] = _mm512_loadu_si512(limbs[i]);
  return r;
}

struct Decoded {
  Point point;
  Mask valid;  // of what is canonical
};

// RFC 9496 section 4.3.1, of numbers that are canonical and not negative.
COT_LANES Decoded decode(const Field& s) {
  const Field one = field_of(kOne);
  const Field ss = square(s);
  const Field u1 = subtract(one, ss), u2 = add(one, ss);
  const Field u2_squared = square(u2);
  const Field v = subtract(negate(multiply(field_of(kD), square(u1))), u2_squared);
  const Root root = root_of_ratio(one, multiply(v, u2_squared));
  const Field den_x = multiply(root.root, u2);
  const Field den_y = multiply(multiply(root.root, den_x), v);
  const Field x = magnitude(multiply(add(s, s), den_x));
  const Field y = multiply(u1, den_y);
  const Field t = multiply(x, y);
  const auto refused = static_cast<Mask>(~root.was_square | is_negative(t) | is_zero(y));
  return {{x, y, one, t}, static_cast<Mask>(~refused)};
}

// RFC 9496 section 4.3.2.
COT_LANES Field encode(const Point& p) {
  const Field u1 = multiply(add(p.z, p.y), subtract(p.z, p.y));
  const Field u2 = multiply(p.x, p.y);
  const Field root = root_of_ratio(field_of(kOne), multiply(u1, square(u2))).root;
  const Field den1 = multiply(root, u1), den2 = multiply(root, u2);
  const Field z_inverse = multiply(multiply(den1, den2), p.t);
  const Mask rotate = is_negative(multiply(p.t, z_inverse));
  const Field x = select(rotate, multiply(p.y, field_of(kSqrtMinusOne)), p.x);
  Field y = select(rotate, multiply(p.x, field_of(kSqrtMinusOne)), p.y);
  const Field den_inverse = select(rotate, multiply(den1, field_of(kInvsqrtAMinusD)), den2);
  y = select(is_negative(multiply(x, z_inverse)), negate(y), y);
  return canonical(magnitude(multiply(den_inverse, subtract(p.z, y))));
}

// MAP of RFC 9496 section 4.3.4.
COT_LANES [[gnu::noinline]] Point mapped(const Field& t) {
  const Field one = field_of(kOne);
  const Field r = multiply(field_of(kSqrtMinusOne), square(t));
  const Field u = multiply(add(r, one), field_of(kOneMinusDSquared));
  const Field v = multiply(subtract(negate(one), multiply(r, field_of(kD))), add(r, field_of(kD)));
  const Root root = root_of_ratio(u, v);
  const Field s = select(root.was_square, root.root, negate(magnitude(multiply(root.root, t))));
  const Field c = select(root.was_square, negate(one), r);
  const Field n = subtract(multiply(multiply(c, subtract(r, one)), field_of(kDMinusOneSquared)), v);
  const Field ss = square(s);
  const Field w0 = multiply(add(s, s), v), w1 = multiply(n, field_of(kSqrtAdMinusOne));
  const Field w2 = subtract(one, ss), w3 = add(one, ss);
  return {multiply(w0, w3), multiply(w2, w1), multiply(w1, w3), multiply(w0, w2)};
}

// Writes the encodings of `points`; how many from the first on are not neutral.
COT_LANES size_t write_products(const Point& points, std::span<RistrettoElement> products) {
  const Field s = encode(points);
  Encodings limbs;
  for (int i = 0; i < 5; ++i) _mm512_storeu_si512(limbs[i], s.limb[i]);
  for (size_t l = 0; l < products.size(); ++l) write_bytes(limbs, l, products[l].bytes.data());
  return std::min(products.size(), static_cast<size_t>(std::countr_zero(static_cast<unsigned>(is_zero(s)) | 0x100u)));
}

COT_LANES size_t multiply_eight(const std::array<int8_t, kDigits>& digits, std::span<const RistrettoElement> elements,
                                std::span<RistrettoElement> products) {
  Encodings limbs = {};  // lanes without an element hold the neutral one
  unsigned refused = 0x100;
  for (size_t l = 0; l < elements.size(); ++l) {
    read_limbs(elements[l].bytes.data(), l, limbs);
    refused |= unsigned{!is_canonical_ristretto(elements[l])} << l;
  }
  const Decoded decoded = decode(field_of_lanes(limbs));
  refused |= static_cast<Mask>(~decoded.valid);
  const size_t good = write_products(multiple(decoded.point, digits), products);
  return std::min(good, static_cast<size_t>(std::countr_zero(refused)));
}

COT_LANES size_t multiply_eight_hashes(const std::array<int8_t, kDigits>& digits, std::span<const RistrettoHash> hashes,
                                       std::span<RistrettoElement> products) {
  Encodings first = {}, second = {};
  for (size_t l = 0; l < hashes.size(); ++l) {
    read_limbs(hashes[l].data(), l, first);
    read_limbs(hashes[l].data() + 32, l, second);
  }
  const Point sum = added(mapped(field_of_lanes(first)), addend_of(mapped(field_of_lanes(second))), true);
  return write_products(multiple(sum, digits), products);
}

template <typename Item,
          size_t (*kEight)(const std::array<int8_t, kDigits>&, std::span<const Item>, std::span<RistrettoElement>)>
size_t multiply_each(const RistrettoScalar& scalar, std::span<const Item> items, std::span<RistrettoElement> products) {
  std::array<int8_t, kDigits> digits;
  write_digits(scalar, digits);
  size_t done = 0;
  while (done < items.size()) {
    const size_t count = std::min(kLanes, items.size() - done);
    const size_t good = kEight(digits, items.subspan(done, count), products.subspan(done, count));
    done += good;
    if (good < count) break;
  }
  wipe({reinterpret_cast<uint8_t*>(digits.data()), digits.size()});
  return done;
}

}  // namespace

const RistrettoKernel kIfmaRistretto = {"avx512-ifma", multiply_each<RistrettoElement, multiply_eight>,
                                        multiply_each<RistrettoHash, multiply_eight_hashes>};

}  // namespace coterie
#endif

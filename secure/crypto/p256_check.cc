#include "secure/crypto/p256_check.h"

#include <array>
#include <optional>

#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

__extension__ using Wide = unsigned __int128;
using Number = std::array<uint64_t, 4>;  // 256 bits, the lowest word first

constexpr size_t kNumberBytes = 32;
constexpr size_t kPointBytes = 65;
constexpr size_t kDerBytesMax = 72;  // two integers of 33 bytes and three heads

constexpr Number kZero{};
constexpr Number kOne{1};
// SP 800-186, section 3.2.1.3.
constexpr Number kPrime{0xffffffffffffffff, 0x00000000ffffffff, 0, 0xffffffff00000001};
constexpr Number kOrder{0xf3b9cac2fc632551, 0xbce6faada7179e84, 0xffffffffffffffff, 0xffffffff00000000};
constexpr Number kB{0x3bce3c3e27d2604b, 0x651d06b0cc53b0f6, 0xb3ebbd55769886bc, 0x5ac635d8aa3a93e7};
constexpr Number kBaseX{0xf4a13945d898c296, 0x77037d812deb33a0, 0xf8bce6e563a440f2, 0x6b17d1f2e12c4247};
constexpr Number kBaseY{0xcbb6406837bf51f5, 0x2bce33576b315ece, 0x8ee7eb4a7c0f9e16, 0x4fe342e2fe1a7f9b};

constexpr bool is_less(const Number& a, const Number& b) {
  for (size_t i = 4; i-- > 0;) {
    if (a[i] != b[i]) return a[i] < b[i];
  }
  return false;
}

constexpr uint64_t add(Number& sum, const Number& a, const Number& b) {
  Wide carry = 0;
  for (size_t i = 0; i < 4; ++i) {
    carry += static_cast<Wide>(a[i]) + b[i];
    sum[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return static_cast<uint64_t>(carry);
}

constexpr uint64_t subtract(Number& difference, const Number& a, const Number& b) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < 4; ++i) {
    const Wide step = static_cast<Wide>(a[i]) - b[i] - borrow;
    difference[i] = static_cast<uint64_t>(step);
    borrow = static_cast<uint64_t>(step >> 64) & 1;
  }
  return borrow;
}

// Numbers modulo an odd modulus above 2^255, in Montgomery's form: x stands for x 2^-256.
class Field {
 public:
  constexpr explicit Field(const Number& modulus) : modulus_(modulus) {
    // Newton's iteration doubles the bits that are right, of which an odd number has three.
    uint64_t inverse = modulus[0];
    for (int i = 0; i < 5; ++i) inverse *= 2 - modulus[0] * inverse;
    factor_ = 0 - inverse;
    (void)subtract(one_, kZero, modulus);  // 2^256 - m, which is below m
    square_ = one_;
    for (int i = 0; i < 256; ++i) square_ = sum(square_, square_);
  }

  constexpr const Number& modulus() const { return modulus_; }
  constexpr const Number& one() const { return one_; }
  constexpr bool has(const Number& value) const { return is_less(value, modulus_); }

  constexpr Number sum(const Number& a, const Number& b) const {
    Number result{};
    const uint64_t carry = add(result, a, b);
    if (carry != 0 || !has(result)) (void)subtract(result, result, modulus_);
    return result;
  }
  constexpr Number difference(const Number& a, const Number& b) const {
    Number result{};
    if (subtract(result, a, b) != 0) (void)add(result, result, modulus_);
    return result;
  }
  // a b 2^-256 (Montgomery 1985), word by word.
  constexpr Number product(const Number& a, const Number& b) const {
    std::array<uint64_t, 6> total{};
    for (size_t i = 0; i < 4; ++i) {
      add_times(total, a[i], b);
      add_times(total, total[0] * factor_, modulus_);
      for (size_t j = 0; j < 5; ++j) total[j] = total[j + 1];  // the lowest word is 0
      total[5] = 0;
    }
    Number result{total[0], total[1], total[2], total[3]};
    if (total[4] != 0 || !has(result)) (void)subtract(result, result, modulus_);
    return result;
  }
  constexpr Number enter(const Number& value) const { return product(value, square_); }
  constexpr Number leave(const Number& value) const { return product(value, kOne); }
  // By Fermat: value to the power of m - 2, m being prime.
  constexpr Number inverse(const Number& value) const {
    Number exponent{};
    (void)subtract(exponent, modulus_, Number{2});
    Number result = one_;
    for (size_t bit = 256; bit-- > 0;) {
      result = product(result, result);
      if ((exponent[bit / 64] >> (bit % 64) & 1) != 0) result = product(result, value);
    }
    return result;
  }

 private:
  static constexpr void add_times(std::array<uint64_t, 6>& total, uint64_t factor, const Number& value) {
    Wide carry = 0;
    for (size_t i = 0; i < 4; ++i) {
      carry += static_cast<Wide>(factor) * value[i] + total[i];
      total[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    carry += total[4];
    total[4] = static_cast<uint64_t>(carry);
    total[5] += static_cast<uint64_t>(carry >> 64);
  }

  Number modulus_, one_{}, square_{};
  uint64_t factor_ = 0;
};

constexpr Field kCoordinates(kPrime);
constexpr Field kScalars(kOrder);

// In Jacobian coordinates, (X / Z^2, Y / Z^3), in Montgomery's form; Z = 0 is the neutral element.
struct Point {
  Number x, y, z;
  bool is_neutral() const { return z == kZero; }
};

// Bernstein and Lange's Explicit-Formulas Database, dbl-2001-b, for a = -3.
Point doubled(const Point& p) {
  const Field& f = kCoordinates;
  const Number delta = f.product(p.z, p.z), gamma = f.product(p.y, p.y), beta = f.product(p.x, gamma);
  const Number part = f.product(f.difference(p.x, delta), f.sum(p.x, delta));
  const Number alpha = f.sum(part, f.sum(part, part));
  const Number beta2 = f.sum(beta, beta), beta4 = f.sum(beta2, beta2);
  Point result;
  result.x = f.difference(f.product(alpha, alpha), f.sum(beta4, beta4));
  const Number yz = f.sum(p.y, p.z);
  result.z = f.difference(f.difference(f.product(yz, yz), gamma), delta);
  const Number square = f.product(gamma, gamma), square2 = f.sum(square, square), square4 = f.sum(square2, square2);
  result.y = f.difference(f.product(alpha, f.difference(beta4, result.x)), f.sum(square4, square4));
  return result;
}

// The same database, add-1998-cmo-2, with the cases that it leaves out.
Point added(const Point& p, const Point& q) {
  if (p.is_neutral()) return q;
  if (q.is_neutral()) return p;
  const Field& f = kCoordinates;
  const Number zz1 = f.product(p.z, p.z), zz2 = f.product(q.z, q.z);
  const Number u1 = f.product(p.x, zz2), u2 = f.product(q.x, zz1);
  const Number s1 = f.product(p.y, f.product(q.z, zz2)), s2 = f.product(q.y, f.product(p.z, zz1));
  const Number h = f.difference(u2, u1), r = f.difference(s2, s1);
  // The formula divides by h: equal points are doubled, opposite ones are the neutral element. A stranger can choose
  // either.
  if (h == kZero) return r == kZero ? doubled(p) : Point{};
  const Number hh = f.product(h, h), hhh = f.product(h, hh), v = f.product(u1, hh);
  Point result;
  result.x = f.difference(f.difference(f.product(r, r), hhh), f.sum(v, v));
  result.y = f.difference(f.product(r, f.difference(v, result.x)), f.product(s1, hhh));
  result.z = f.product(h, f.product(p.z, q.z));
  return result;
}

// u1 times the base point and u2 times another, bit by bit together (Shamir).
Point sum_of_multiples(const Number& u1, const Number& u2, const Point& other) {
  const Field& f = kCoordinates;
  const Point base{f.enter(kBaseX), f.enter(kBaseY), f.one()};
  // Not in constant time: signature, key and message are public.
  const std::array<Point, 4> table{Point{}, base, other, added(base, other)};
  Point result{};
  for (size_t bit = 256; bit-- > 0;) {
    result = doubled(result);
    const uint64_t first = u1[bit / 64] >> (bit % 64) & 1, second = u2[bit / 64] >> (bit % 64) & 1;
    result = added(result, table[first + 2 * second]);
  }
  return result;
}

Number number_of(ByteView big_endian) {  // of 32 bytes at most
  Number number{};
  for (size_t i = 0; i < big_endian.size(); ++i) {
    const size_t place = big_endian.size() - 1 - i;
    number[place / 8] |= static_cast<uint64_t>(big_endian[i]) << (place % 8 * 8);
  }
  return number;
}

std::optional<Point> point_of(ByteView key) {
  if (key.size() != kPointBytes || key[0] != 0x04) return std::nullopt;
  const Field& f = kCoordinates;
  const Number x = number_of(key.subspan(1, kNumberBytes)), y = number_of(key.subspan(1 + kNumberBytes, kNumberBytes));
  // Below the prime and on the curve: another curve's point would make checks pass that should not.
  if (!f.has(x) || !f.has(y)) return std::nullopt;
  const Point point{f.enter(x), f.enter(y), f.one()};
  // y^2 = x^3 - 3 x + b
  const Number square = f.product(point.x, point.x), three = f.sum(f.one(), f.sum(f.one(), f.one()));
  const Number right = f.sum(f.product(point.x, f.difference(square, three)), f.enter(kB));
  if (f.product(point.y, point.y) != right) return std::nullopt;
  return point;
}

// Takes an INTEGER off the front of `der`: one that is positive, in as few bytes as it can be, and in [1, n).
std::optional<Number> take_scalar(ByteView& der) {
  if (der.size() < 3 || der[0] != 0x02 || der[1] == 0 || der[1] > kNumberBytes + 1 || der.size() < 2u + der[1]) {
    return std::nullopt;
  }
  ByteView value = der.subspan(2, der[1]);
  der = der.subspan(2 + value.size());
  if ((value[0] & 0x80) != 0) return std::nullopt;  // negative
  if (value[0] == 0 && value.size() > 1) {
    if ((value[1] & 0x80) == 0) return std::nullopt;  // a zero too many
    value = value.subspan(1);
  }
  if (value.size() > kNumberBytes) return std::nullopt;
  const Number number = number_of(value);
  if (number == kZero || !kScalars.has(number)) return std::nullopt;
  return number;
}

}  // namespace

bool p256_check_signature(ByteView public_key, ByteView message, ByteView der_signature) {
  const std::optional<Point> key = point_of(public_key);
  ByteView der = der_signature;
  if (!key || der.size() < 2 || der.size() > kDerBytesMax || der[0] != 0x30 || der[1] != der.size() - 2) return false;
  der = der.subspan(2);
  const std::optional<Number> r = take_scalar(der);
  if (!r) return false;
  const std::optional<Number> s = take_scalar(der);
  if (!s || !der.empty()) return false;

  const Digest digest = sha256(message);
  Number hash = number_of(ByteView(digest.bytes));
  if (!kScalars.has(hash)) (void)subtract(hash, hash, kOrder);
  // One of two factors is in Montgomery's form, so the product is not.
  const Number w = kScalars.inverse(kScalars.enter(*s));
  const Point sum = sum_of_multiples(kScalars.product(hash, w), kScalars.product(*r, w), *key);
  if (sum.is_neutral()) return false;
  const Field& f = kCoordinates;
  const Number inverse = f.inverse(sum.z);
  Number x = f.leave(f.product(sum.x, f.product(inverse, inverse)));
  if (!kScalars.has(x)) (void)subtract(x, x, kOrder);
  return x == *r;
}

bool p256_check_key(ByteView public_key) { return point_of(public_key).has_value(); }

}  // namespace coterie

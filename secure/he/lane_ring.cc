#include "secure/he/lane_ring.h"

#include <algorithm>

namespace coterie::he {
namespace {

constexpr size_t kSlackBits = 4;  // R >= 16 n
constexpr uint64_t kDigitMask = (uint64_t{1} << kDigitBits) - 1;

void write_digits(const Big& number, std::span<uint64_t> digits) {
  // The last digit is read as eight bytes.
  Bytes bytes(digits.size() * kDigitBits / 8 + 9);
  must(BN_bn2lebinpad(number.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size()));
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t first = i * kDigitBits;
    uint64_t word = 0;
    for (size_t k = 0; k < 8; ++k) word |= uint64_t{bytes[first / 8 + k]} << (8 * k);
    digits[i] = word >> (first % 8) & kDigitMask;
  }
  wipe(bytes);
}

Big read_digits(std::span<const uint64_t> digits) {
  Bytes bytes(digits.size() * kDigitBits / 8 + 9);
  for (size_t i = 0; i < digits.size(); ++i) {
    const size_t first = i * kDigitBits;
    const uint64_t word = digits[i] << (first % 8);
    for (size_t k = 0; k < 8; ++k) bytes[first / 8 + k] = static_cast<uint8_t>(bytes[first / 8 + k] | word >> (8 * k));
  }
  Big number = secret_big();
  must(BN_lebin2bn(bytes.data(), static_cast<int>(bytes.size()), number.get()) != nullptr);
  wipe(bytes);
  return number;
}

uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = 1;  // right in one bit, and each step doubles them
  for (int i = 0; i < 6; ++i) inverse *= 2 - odd * inverse;
  return (0 - inverse) & kDigitMask;
}

}  // namespace

LaneRing::LaneRing(const LaneKernel& kernel, const Big& n, Modulo modulo, const BigContext& context)
    : kernel_(kernel),
      n_(copy_of(n)),
      has_high_(modulo == Modulo::square_of_n),
      ring_(has_high_ ? product(n, n, context) : copy_of(n)),
      digits_((static_cast<size_t>(BN_num_bits(n.get())) + kSlackBits + kDigitBits - 1) / kDigitBits),
      words_(((has_high_ ? 2 : 1) * digits_ + 7) / 8 * 8),
      one_(words_) {
  COT_ASSERT(BN_is_odd(n.get()) != 0 && digits_ <= kDigitsMax);
  Big r = big();
  must(BN_set_bit(r.get(), static_cast<int>(digits_ * kDigitBits)) == 1);
  Big offset = big();
  must(BN_one(offset.get()) == 1 && BN_sub(offset.get(), offset.get(), r.get()) == 1 &&
       BN_nnmod(offset.get(), offset.get(), n.get(), context.get()) == 1);
  n_lanes_ = eight_times(n);
  offset_lanes_ = eight_times(offset);
  modulus_ = {digits_, inverse_of(n_lanes_.data()[0]), n_lanes_.data(), offset_lanes_.data()};

  write_row(r, one_.data(), context);
  Big r_square = big();
  must(BN_mod_sqr(r_square.get(), r.get(), ring_.get(), context.get()) == 1);
  LaneWords row(words_), plain_one(words_);
  write_row(r_square, row.data(), context);
  plain_one.data()[0] = 1;
  to_form_ = lanes();
  from_form_ = lanes();
  for (size_t l = 0; l < kLanes; ++l) {
    set_lane(to_form_, l, row.data());
    set_lane(from_form_, l, plain_one.data());
  }
}

LaneWords LaneRing::eight_times(const Big& number) const {
  LaneWords digits(digits_), all(kLanes * digits_);
  write_digits(number, digits.span());
  for (size_t i = 0; i < kLanes * digits_; ++i) all.data()[i] = digits.data()[i / kLanes];
  return all;
}

void LaneRing::write_row(const Big& number, uint64_t* row, const BigContext& context) const {
  Big low = secret_big(), high = secret_big();
  // A number modulo n^2 is kept as low + high n, both below n: products then need digits of n alone, half as many.
  must(BN_div(high.get(), low.get(), number.get(), n_.get(), context.get()) == 1);
  write_digits(low, {row, digits_});
  if (has_high_) write_digits(high, {row + digits_, digits_});
}

void LaneRing::load(std::span<const uint64_t* const> rows, LaneWords& lanes) const {
  std::array<const uint64_t*, kLanes> eight;
  eight.fill(one_.data());
  std::ranges::copy(rows, eight.begin());
  kernel_.to_lanes(words_, eight.data(), lanes.data());
}

void LaneRing::store(const LaneWords& lanes, std::span<uint64_t* const> rows) const {
  // The kernel writes eight rows: lanes that nobody wants go here.
  LaneWords unused = rows.size() < kLanes ? row() : LaneWords();
  std::array<uint64_t*, kLanes> eight;
  eight.fill(unused.data());
  std::ranges::copy(rows, eight.begin());
  kernel_.to_rows(words_, lanes.data(), eight.data());
}

void LaneRing::set_lane(LaneWords& lanes, size_t lane, const uint64_t* row) const {
  for (size_t j = 0; j < words_; ++j) lanes.data()[kLanes * j + lane] = row[j];
}

LaneWords LaneRing::lane_of(const LaneWords& lanes, size_t lane) const {
  LaneWords row(words_);
  for (size_t j = 0; j < words_; ++j) row.data()[j] = lanes.data()[kLanes * j + lane];
  return row;
}

std::vector<LaneWords> LaneRing::rows_of(std::span<const Big> numbers, const BigContext& context) const {
  std::vector<LaneWords> rows;
  rows.reserve(numbers.size());
  LaneWords eight = lanes();
  for (size_t first = 0; first < numbers.size(); first += kLanes) {
    const size_t count = std::min(kLanes, numbers.size() - first);
    std::array<uint64_t*, kLanes> pointers{};
    for (size_t i = 0; i < count; ++i) {
      rows.push_back(row());
      pointers[i] = rows.back().data();
      write_row(numbers[first + i], pointers[i], context);
    }
    load(std::span<const uint64_t* const>(pointers.data(), count), eight);
    multiply(eight, to_form_, eight);
    store(eight, std::span(pointers).first(count));
  }
  return rows;
}

std::vector<Big> LaneRing::numbers_of(const LaneWords& lanes, size_t count, const BigContext& context) const {
  LaneWords plain = this->lanes();
  multiply(lanes, from_form_, plain);
  std::vector<Big> numbers;
  for (size_t i = 0; i < count; ++i) {
    const LaneWords row = lane_of(plain, i);
    // Both halves are as the last product left them, below 2 n, so that the sum is reduced here.
    Big number = secret_big();
    if (has_high_) {
      const Big high = read_digits(row.span().subspan(digits_, digits_));
      must(BN_mul(number.get(), high.get(), n_.get(), context.get()) == 1);
    }
    const Big low = read_digits(row.span().first(digits_));
    must(BN_add(number.get(), number.get(), low.get()) == 1 &&
         BN_nnmod(number.get(), number.get(), ring_.get(), context.get()) == 1);
    numbers.push_back(std::move(number));
  }
  return numbers;
}

}  // namespace coterie::he

#include "secure/he/half_powers.h"

#include <algorithm>

#include "secure/he/fixed_base.h"
#include "secure/he/lane_power.h"

namespace coterie::he {
namespace {

constexpr size_t kWindowBits = 8;

size_t bits_of(const Big& number) { return static_cast<size_t>(BN_num_bits(number.get())); }

// The p-th power of a generator modulo p generates the residues modulo p^2 of order p - 1.
Big residue_base(const Big& p, const Big& generator, const Big& square, const BigContext& context) {
  Big base = big();
  must(BN_mod_exp(base.get(), generator.get(), p.get(), square.get(), context.get()) == 1);
  return base;
}

Big secret_order(const Big& p) {
  Big order = minus_one(p);
  // p - 1 gives the factors of n away.
  BN_set_flags(order.get(), BN_FLG_CONSTTIME);
  return order;
}

class SinglePowers : public HalfPowers {
 public:
  SinglePowers(const Big& p, const Big& generator, const BigContext& context)
      : order_(secret_order(p)),
        square_(product(p, p, context)),
        form_(montgomery(square_, context)),
        residues_(residue_base(p, generator, square_, context), bits_of(order_), kWindowBits, form_.get(), context) {}

  std::vector<Big> residues(std::span<const Big> exponents, const BigContext& context) const override {
    std::vector<Big> all;
    for (const Big& exponent : exponents) {
      all.push_back(residues_.power(exponent, context));
      must(BN_from_montgomery(all.back().get(), all.back().get(), form_.get(), context.get()) == 1);
    }
    return all;
  }

  std::vector<Big> to_the_order(std::span<const Big> bases, const BigContext& context) const override {
    std::vector<Big> all;
    for (const Big& base : bases) {
      all.push_back(secret_big());
      must(BN_mod_exp_mont_consttime(all.back().get(), base.get(), order_.get(), square_.get(), context.get(),
                                     form_.get()) == 1);
    }
    return all;
  }

 private:
  Big order_;  // p - 1
  Big square_;
  Montgomery form_;
  FixedBase residues_;
};

class LanePowers : public HalfPowers {
 public:
  LanePowers(const Big& p, const Big& generator, const LaneKernel& kernel, const BigContext& context)
      : exponent_bits_(bits_of(p)),
        order_(minus_one(p), exponent_bits_),
        lanes_(kernel, p, Modulo::square_of_n, context),
        tables_(lanes_) {
    const Big base = residue_base(p, generator, product(p, p, context), context);
    tables_.add_powers(lanes_.rows_of({&base, 1}, context)[0], exponent_bits_);
  }

  std::vector<Big> residues(std::span<const Big> exponents, const BigContext& context) const override {
    Bytes digits(kLanes * tables_.windows());
    std::vector<Big> all;
    for (size_t first = 0; first < exponents.size(); first += kLanes) {
      const size_t count = std::min(kLanes, exponents.size() - first);
      for (size_t lane = 0; lane < count; ++lane) {
        const PowerDigits exponent(exponents[first + lane], exponent_bits_);
        for (size_t i = 0; i < exponent.size(); ++i) digits[kLanes * i + lane] = exponent[i];
      }
      LaneWords eight = lanes_.lanes();
      lanes_.load({}, eight);
      tables_.multiply(digits, eight);
      append(eight, count, all, context);
    }
    wipe(digits);
    return all;
  }

  std::vector<Big> to_the_order(std::span<const Big> bases, const BigContext& context) const override {
    std::vector<Big> all;
    for (size_t first = 0; first < bases.size(); first += kLanes) {
      const size_t count = std::min(kLanes, bases.size() - first);
      const std::vector<LaneWords> rows = lanes_.rows_of(bases.subspan(first, count), context);
      LaneWords eight = lanes_.lanes();
      lanes_.load({}, eight);
      for (size_t i = 0; i < count; ++i) lanes_.set_lane(eight, i, rows[i].data());
      raise_lanes(lanes_, eight, order_);
      append(eight, count, all, context);
    }
    return all;
  }

 private:
  void append(const LaneWords& eight, size_t count, std::vector<Big>& all, const BigContext& context) const {
    for (Big& number : lanes_.numbers_of(eight, count, context)) all.push_back(std::move(number));
  }

  size_t exponent_bits_;
  PowerDigits order_;  // p - 1
  LaneRing lanes_;
  LaneTables tables_;
};

}  // namespace

std::unique_ptr<HalfPowers> single_powers(const Big& p, const Big& generator, const BigContext& context) {
  return std::make_unique<SinglePowers>(p, generator, context);
}

std::unique_ptr<HalfPowers> lane_powers(const Big& p, const Big& generator, const LaneKernel& kernel,
                                        const BigContext& context) {
  return std::make_unique<LanePowers>(p, generator, kernel, context);
}

}  // namespace coterie::he

#include "tools/model/width_search.h"

#include <algorithm>
#include <cmath>

#include "tools/model/width_choice.h"

namespace coterie {
namespace {

constexpr uint32_t kWidths[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16};
constexpr uint32_t kPlainWidthMin = 6;     // from here on min-max alone is looked at: there is little to cure
constexpr uint32_t kLosslessWidthMin = 8;  // where this one loses nothing, wider ones lose nothing either
constexpr int kFits = 8, kSweeps = 2;
// Between widths that cost no loss, the finer one: as much as it can matter beside any price.
constexpr double kTieBreak = 1e-6;

struct Option {
  WeightForm form;
  uint64_t bytes = 0;
  double price = 0, loss = 0;  // with and without what breaks a tie
};

class Searching {
 public:
  Searching(const WidthSearch& search, RoundedModel& model) : search_(search), model_(model) {}

  Result<WidthsFound> run() {
    COT_TRY(measure());
    COT_TRY(fit());
    COT_ASSIGN(double loss, search_.loss(model_.rounded()));
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      COT_ASSIGN(const bool has_gained, widen_each(loss));
      if (!has_gained) break;
    }
    WidthsFound found{.loss = loss, .prices = {}};
    for (const std::vector<Option>& options : options_) {
      found.prices.emplace_back();
      for (const Option& option : options) found.prices.back().push_back({option.form.bits, option.loss});
    }
    return found;
  }

 private:
  void tell() {
    if (search_.progress) search_.progress(tried_++, model_.size() * std::size(kWidths));
  }

  // What weight i, alone, costs in this form.
  Result<double> grown(size_t i, const WeightForm& form) {
    model_.change(i, form);
    if (!std::isfinite(search_.loss_exact)) return 0.0;  // nothing to lose: what breaks ties decides
    COT_ASSIGN(const double loss, search_.loss(model_.rounded()));
    // A loss that is no number is dearer than any other.
    return std::isfinite(loss) ? std::clamp(loss - search_.loss_exact, 0.0, kDearest) : kDearest;
  }

  // The form of so many bits that costs least.
  Result<Option> measured(size_t i, uint32_t bits) {
    Option best{.form = {.bits = bits}, .bytes = model_.stored_bytes(i, bits)};
    COT_ASSIGN(best.loss, grown(i, best.form));
    const auto offer = [&](const WeightForm& form) -> Status {
      COT_ASSIGN(const double loss, grown(i, form));
      if (loss < best.loss) best.form = form, best.loss = loss;
      return {};
    };
    if (bits >= kPlainWidthMin) return best;
    if (bits > 1) COT_TRY(offer({.bits = bits, .rule = RangeRule::least_mse}));
    if (model_.can_correct(i)) COT_TRY(offer({.bits = bits, .rule = best.form.rule, .is_bias_corrected = true}));
    return best;
  }

  Status measure() {
    // Also of a model whose own loss is no number: the sums that are compared are of numbers.
    const double unit = std::isfinite(search_.loss_exact) ? std::max(1e-3, std::fabs(search_.loss_exact)) : 1;
    for (size_t i = 0; i < model_.size(); ++i) model_.change(i, {.bits = kFloatBits});
    for (size_t i = 0; i < model_.size(); ++i) {
      std::vector<Option>& options = options_.emplace_back();
      for (const uint32_t bits : kWidths) {
        tell();
        if (bits > search_.bits_max) break;
        Option option{.form = {.bits = bits}, .bytes = model_.stored_bytes(i, bits)};
        if (bits <= kLosslessWidthMin || options.back().loss > 0) {
          COT_ASSIGN(option, measured(i, bits));
        }
        model_.change(i, option.form);
        const double rounding = 1 - std::max(0.0, model_.loss(i).cosine);
        option.price = kTieBreak * rounding * unit;
        options.push_back(option);
      }
      model_.change(i, {.bits = kFloatBits});
      std::ranges::reverse(options);
      // A narrower width is no cheaper than a wider one: where it seems so, that is chance.
      double dearest = 0;
      for (Option& option : options) {
        dearest = std::max(dearest, option.loss);
        option.price += dearest;
      }
    }
    return {};
  }

  // The choice in which weight `wide` is of option `least` or a wider one; none: it does not fit.
  std::optional<std::vector<size_t>> choose(size_t wide, size_t least) const {
    std::vector<std::vector<WidthOption>> weights;
    for (size_t i = 0; i < options_.size(); ++i) {
      weights.emplace_back();
      for (size_t o = 0; o < options_[i].size(); ++o) {
        if (i != wide || o <= least) weights.back().push_back({options_[i][o].bytes, options_[i][o].price});
      }
    }
    return least_loss(weights, bytes_max_);
  }

  void take(const std::vector<size_t>& chosen) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (model_.form(i) != options_[i][chosen[i]].form) model_.change(i, options_[i][chosen[i]].form);
    }
  }

  uint64_t weight_bytes() const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < chosen_.size(); ++i) bytes += options_[i][chosen_[i]].bytes;
    return bytes;
  }

  Result<uint64_t> file_bytes() const {
    COT_ASSIGN(const Bytes file, model_.file(search_.grids));
    return file.size();
  }

  // The best choice whose file is small enough. What a file has beside the weights hardly depends on their widths, but
  // it does: the budget is what is left.
  Status fit() {
    bytes_max_ = search_.file_bytes_max;
    for (int round = 0; round < kFits; ++round) {
      const auto chosen = choose(options_.size(), 0);
      if (!chosen) break;
      chosen_ = *chosen;
      take(chosen_);
      COT_ASSIGN(const uint64_t bytes, file_bytes());
      if (bytes <= search_.file_bytes_max && round > 0) return {};
      const uint64_t beside = bytes - std::min(bytes, weight_bytes());
      if (beside >= search_.file_bytes_max) break;
      const uint64_t left = search_.file_bytes_max - beside;
      if (round > 0 && left >= bytes_max_) bytes_max_ -= std::min<uint64_t>(bytes_max_, 64);
      else bytes_max_ = left;
    }
    // Without a choice that was seen to fit, the smallest one: what lies beside it may be less than beside others.
    chosen_.assign(options_.size(), options_.empty() ? 0 : options_[0].size() - 1);
    take(chosen_);
    COT_ASSIGN(const uint64_t least, file_bytes());
    if (least <= search_.file_bytes_max) return {};
    return Error(ErrorCode::invalid_argument, "cannot have as few as " + std::to_string(search_.file_bytes_max) +
                                                  " bytes: with 1 bit a weight it has " + std::to_string(least) +
                                                  ", since biases, norms, scales and the graph stay as they are");
  }

  Result<bool> widen_each(double& loss) {
    bool has_gained = false;
    for (size_t i = 0; i < options_.size(); ++i) {
      if (chosen_[i] == 0) continue;
      const auto other = choose(i, chosen_[i] - 1);
      if (!other) continue;
      const std::vector<size_t> before = chosen_;
      take(*other);
      COT_ASSIGN(const double found, search_.loss(model_.rounded()));
      uint64_t bytes = 0;
      if (found < loss) {
        COT_ASSIGN(bytes, file_bytes());
      }
      if (!(found < loss) || bytes > search_.file_bytes_max) {
        take(before);
        continue;
      }
      loss = found;
      chosen_ = *other;
      has_gained = true;
    }
    return has_gained;
  }

  static constexpr double kDearest = 1e30;

  const WidthSearch& search_;
  RoundedModel& model_;
  std::vector<std::vector<Option>> options_;  // of each weight, the widest first
  std::vector<size_t> chosen_;
  uint64_t bytes_max_ = 0;  // of the weights
  size_t tried_ = 0;
};

}  // namespace

uint64_t smaller_bytes(uint64_t file_bytes, double ratio) {
  return static_cast<uint64_t>(static_cast<double>(file_bytes) / ratio);
}

uint32_t even_width(double ratio, uint32_t bits_max) {
  return static_cast<uint32_t>(std::clamp(std::floor(32 / ratio), 1.0, static_cast<double>(bits_max)));
}

Result<WidthsFound> search_widths(const WidthSearch& search, RoundedModel& model) {
  return Searching(search, model).run();
}

}  // namespace coterie

#include "secure/dp/account/sampling.h"

#include "secure/dp/account/limits.h"
#include "secure/dp/account/number_words.h"

namespace coterie {
namespace {

using namespace account_limits;

Error wrong(std::string message) { return Error(ErrorCode::invalid_argument, std::move(message)); }

}  // namespace

Result<Sampling> Sampling::assume_poisson(double rate, std::string who) {
  if (!(rate >= kSamplingRateMin && rate <= 1)) {
    return wrong("the rate of Poisson sampling must be from " + number_words(kSamplingRateMin) + " to 1, is " +
                 number_words(rate));
  }
  if (who.empty()) return wrong("an assumption about sampling must say who makes it");
  return Sampling(Kind::poisson, rate, std::move(who));
}

Result<Sampling> Sampling::assume_without_replacement(uint64_t drawn, uint64_t population, std::string who) {
  if (drawn < 1 || drawn > population || population > kPopulationMax) {
    return wrong("sampling without replacement must draw from 1 to all of at most " + std::to_string(kPopulationMax) +
                 " records, not " + std::to_string(drawn) + " of " + std::to_string(population));
  }
  if (who.empty()) return wrong("an assumption about sampling must say who makes it");
  return Sampling(Kind::without_replacement, static_cast<double>(drawn) / static_cast<double>(population),
                  std::move(who));
}

std::string Sampling::words() const {
  if (kind_ == Kind::none) return "no sampling";
  const std::string what = kind_ == Kind::poisson ? "Poisson sampling" : "sampling without replacement";
  const std::string source =
      is_assumed() ? ", assumed by " + who_ + ", seen by nobody" : ", done by this program's sampler";
  return what + " with rate " + number_words(rate_) + source;
}

}  // namespace coterie

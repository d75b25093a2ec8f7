// Who says that the records of a release were drawn at random, and how.
//
// Amplification by sampling makes epsilon ten times smaller or more, and it is false unless every record was drawn by a
// coin that nobody but the sampler knew. So a claim cannot be written down: it is made by a sampler that tosses the
// coins itself (poisson_sampler.h), or by `assume_...`, whose words go into every report. Devices that check in when
// they like, and of which a server takes whom it wants, are not sampled: their releases take Sampling::none().
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace coterie {

class Sampling {
 public:
  enum class Kind : uint8_t { none = 1, poisson, without_replacement };

  static Sampling none() { return {}; }

  // For planning, and for the words of an operator: nobody has seen the coins. `who` is named in the report.
  static Result<Sampling> assume_poisson(double rate, std::string who);
  static Result<Sampling> assume_without_replacement(uint64_t drawn, uint64_t population, std::string who);

  Kind kind() const { return kind_; }
  double rate() const { return rate_; }  // probability that a given record takes part in one release; 1 if none
  bool is_assumed() const { return !who_.empty(); }

  // "Poisson sampling with rate 0.01, assumed by the operator, seen by nobody"
  std::string words() const;

 private:
  friend class PoissonSampler;
  Sampling() = default;
  Sampling(Kind kind, double rate, std::string who) : kind_(kind), rate_(rate), who_(std::move(who)) {}

  Kind kind_ = Kind::none;
  double rate_ = 1;
  std::string who_;  // of an assumption
};

}  // namespace coterie

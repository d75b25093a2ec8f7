// The privacy loss of one release without sampling: l = log(p1 / p0) of an outcome, p1 its density with the person's
// data and p0 without. In every law here p1 is p0 moved, and symmetric, so that l under p1 is -l under p0.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "secure/dp/account/release.h"

namespace coterie {

struct LossMass {
  double with = 0;     // probability under p1
  double without = 0;  // under p0
};

// An outcome, or some, of one loss.
struct LossAtom {
  double loss = 0;
  LossMass mass;
};

class LossLaw {
 public:
  virtual ~LossLaw() = default;

  // What has a density: cells[i] is the mass of (edges[i], edges[i + 1]]; edges ascend, one more than cells, and may be
  // infinite. Each mass is a difference of tails on the side where they are small.
  virtual void masses(std::span<const double> edges, std::span<LossMass> cells) const = 0;

  // What has none.
  std::span<const LossAtom> atoms() const { return atoms_; }

  // A loss above which lies at most `tail` > 0 under p1, atoms included (so at most `tail` below its negative under
  // p0).
  virtual double upper_edge(double tail) const = 0;

  // Every atom's loss is a multiple of this; 0: it has no atoms. A grid in step with it rounds none of them.
  virtual double lattice() const { return 0; }

 protected:
  std::vector<LossAtom> atoms_;
};

// That of a vector of discrete Gaussians is of the normal noise that it is made of (rounded_gaussian_precision(), whose
// slack is the caller's). Fails for noise that has no such law of one dimension: Skellam, sums of discrete Gaussians,
// and vectors of discrete Gaussians on too coarse a grid; and if the tail of a discrete one has more than kAtomsMax
// values.
// The Gaussian law is also that of `count` adaptive releases at once, with sigma / sqrt(count).
Result<std::unique_ptr<LossLaw>> loss_law(const Noise& noise, double count = 1);

}  // namespace coterie

// Privacy loss distributions (Sommer, Meiser and Mohammadi 2019; Koskela et al. 2020): epsilon of a composition from
// the distribution of its total loss, which is the convolution of the losses of its releases. Nearly exact, and an
// upper bound: losses are discretized upwards (loss_pmf.h); the mass that is cut off, the mass that the finite window
// of the Fourier transform lets fall back into it, and the rounding errors of the transform are bounded and added to
// delta.
//
// The convolution is that of the tilted distribution p(l) e^(tilt l), whose mass lies around the epsilon that is asked
// for: errors are then small beside delta however small delta is, and the window need not hold the rest. (Without the
// tilt a transform in doubles knows delta to some 1e-12 and no better.)
#pragma once

#include "base/result.h"
#include "secure/dp/account/release.h"

namespace coterie {

// The least epsilon that this proves at `delta`, the worse of the two directions if anything is sampled. Infinity if
// the mass that was cut off is more than delta. `composition` and `delta` have been checked.
//
// Fails for noise without a law of one dimension (loss_law.h), for sampling without replacement, and for distributions
// that would need more than kPldPointsMax values. Memory: at most some 100 MB. Deterministic on one machine; another's
// erfc and exp may differ in the last digits.
Result<double> pld_epsilon(const Composition& composition, double delta);

}  // namespace coterie

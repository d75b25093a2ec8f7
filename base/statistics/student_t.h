// How wide the interval of a mean is that is estimated from few values. Pure.
#pragma once

#include <cstddef>

namespace coterie {

// The .975 quantile of Student's t, by which a 95 % confidence interval is as many standard errors wide on either side;
// `degrees` of freedom from 1. Within .0005 of the distribution (Abramowitz and Stegun 1964, table 26.10).
double student_t(size_t degrees);

}  // namespace coterie

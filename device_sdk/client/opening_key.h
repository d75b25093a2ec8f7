// By what a device counts openings (openings.h): by a plan's model, or, where a plan has analytics, by the numbers of
// an example that it looks at.
//
// A plan that runs models looks at every number of an example and at its class, through models of the server's
// choice, which may say anything of them: it counts together with every plan that has analytics.
//
// Two tables of one column with other edges, buckets or categories are as two sums of one model: whoever opens both
// with one device more in one of them has that device's answer. So a key of analytics says nothing but which numbers
// are looked at, and two of them that have a number in common count together. How many numbers an example has is not
// in a key: it is the server's word, and the column is the same.
#pragma once

#include "base/ids.h"
#include "proto/messages/checkin.h"
#include "proto/messages/plan.h"

namespace coterie {

// The model's digest; of analytics a mark and the numbers themselves. No model has such a digest: its first 128 bits
// are fixed.
Digest opening_key(const Plan& plan, const Assignment& assignment);

// Whether an opening of the one counts for the other.
bool share_openings(const Digest& one, const Digest& other);

}  // namespace coterie

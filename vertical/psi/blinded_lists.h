// The lists of a bucket's blinded elements, as all matchings make them of their ids and of what a peer sent.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "vertical/psi/blinding.h"
#include "vertical/psi/id_set.h"
#include "vertical/psi/psi_settings.h"

namespace coterie::vertical {

// The blinded elements of these rows, one behind the other; `out` has their bytes.
void write_blinded(const Blinding& blinding, const PsiSettings& settings, const IdSet& ids,
                   std::span<const uint32_t> rows, std::span<uint8_t> out);

// The products of a peer's elements, whose first one has `place` in its list of `bucket`; or the error that names the
// first bad one.
Result<std::vector<RistrettoElement>> multiplied(const Blinding& blinding, ByteView elements, uint32_t bucket,
                                                 size_t place);

}  // namespace coterie::vertical

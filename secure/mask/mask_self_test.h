// Whether this CPU's mask kernels give what libcrypto gives: asked once when a process starts, before any mask is made.
#pragma once

#include "base/result.h"
#include "secure/mask/mask_kernel.h"

namespace coterie {

// Three keys at three offsets (the start, within a block behind the first 4 GiB, the end) by every kernel of every
// suite, each width of lanes and both signs among them: some 10 MB of streams, a few milliseconds. An `internal` error
// names the kernel that is wrong: such a machine must not take part.
Status mask_self_test();

// The same of one kernel.
Status mask_self_test(const MaskKernel& kernel, CipherSuite suite);

}  // namespace coterie

// What networks lose when they are quantised after training, on real digits.
#pragma once

#include <string>

namespace coterie::bench {

// Trains each network on the first 8,000 images of `folder`, the 10,000 test images of MNIST, and prints rows of JSON:
// the accuracy on the other 2,000, in percent, as float32 and quantised. A row of weights alone has a width: by
// min-max, by least squares, and that with corrected biases, all of them whatever they cost; then what `coterie model
// quantise` keeps. A row of int8 throughout, and one of widths that are found, have the last alone. Exits with 77 where
// the folder is not there.
void measure_quantised_nets(const std::string& folder);

}  // namespace coterie::bench

// A float as JSON shows it.
#pragma once

namespace coterie {

// The double whose shortest text is the float's: 0.1f is shown as 0.1, and reads back as the same float.
double readable(float value);

}  // namespace coterie

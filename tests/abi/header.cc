// coterie.h alone, twice, as C++20.
#include "coterie.h"

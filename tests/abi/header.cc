// coterie.h and coterie_train.h alone, twice, as C++20.
#include "coterie.h"
#include "coterie_train.h"

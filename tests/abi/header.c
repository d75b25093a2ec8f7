// coterie.h and coterie_train.h alone, twice, as C11.
#include "coterie.h"
#include "coterie_train.h"

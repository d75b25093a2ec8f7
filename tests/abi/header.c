// coterie.h and coterie_train.h alone, twice, as C11.
#include "coterie_train.h"
#include "coterie.h"

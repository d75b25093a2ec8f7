// coterie.h alone, twice, as C11.
#include "coterie.h"

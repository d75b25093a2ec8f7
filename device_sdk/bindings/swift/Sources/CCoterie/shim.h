/* What the module CCoterie is made of. */
#pragma once

#include <coterie_train.h>

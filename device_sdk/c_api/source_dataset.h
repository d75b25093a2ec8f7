// Sources of the library's own as the app sees them, a coterie_dataset, and the way back.
#pragma once

#include "coterie.h"
#include "device_sdk/runtime/example_source.h"

namespace coterie {

// Refers to the source.
coterie_dataset dataset_of(ExampleSource& source);
// Null if the data set is the app's own.
ExampleSource* source_of(const coterie_dataset& dataset);

}  // namespace coterie

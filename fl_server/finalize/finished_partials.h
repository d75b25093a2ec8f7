// Partial sums of rounds that are over: nobody asks for these any more.
#pragma once

#include "fl_server/store/accept_store.h"
#include "fl_server/store/blob_store.h"

namespace coterie {

// Removes some of them, and then their rows. What fails stays for another time.
void remove_finished_partials(AcceptStore& accepts, BlobStore& partials);

}  // namespace coterie

#include "tests/unit/fl_server/store/blob_store_conformance.h"

namespace coterie::test {
namespace {

using Backends = testing::Types<MemoryBlobs, DirectoryBlobs>;
INSTANTIATE_TYPED_TEST_SUITE_P(Blobs, BlobStoreConformance, Backends, BlobBackendNames);

}  // namespace
}  // namespace coterie::test

// The named limits of everything that is decoded. Over a limit is too_large or malformed, never an allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coterie::limits {

inline constexpr size_t kWireHeaderBytesMax = 64 * 1024;         // FlatBuffer header of a wire message
inline constexpr size_t kFileHeaderBytesMax = 32 * 1024 * 1024;  // FlatBuffer header of a model or state file
inline constexpr size_t kSharesHeaderBytesMax = 256 * 1024;  // shares and confirmations of all of a device's neighbours
inline constexpr size_t kRosterHeaderBytesMax =
    2 * 1024 * 1024;  // adverts of all of a device's neighbours, and their proof
inline constexpr size_t kPlanBytesMax = kWireHeaderBytesMax + 128;  // a whole plan frame
inline constexpr uint64_t kPayloadBytesMax = 1ull << 36;            // 64 GiB: of any frame
inline constexpr uint32_t kVerifierDepthMax = 16;
inline constexpr uint32_t kVerifierTablesMax = 400'000;

inline constexpr size_t kTextBytesMax = 256;  // names, versions, reasons
inline constexpr size_t kDetailBytesMax = 2048;
inline constexpr size_t kTokenBytesMax = 256;
inline constexpr size_t kTicketBytesMax = 256;
inline constexpr size_t kKeyBytesMax = 128;
inline constexpr size_t kSignatureBytesMax = 128;
inline constexpr uint32_t kWaitMsMax = 10 * 60 * 1000;
inline constexpr int64_t kUnixMsMax = 253'402'300'799'999;  // the end of the year 9999
inline constexpr size_t kJobsRememberedMax = 1024;
inline constexpr size_t kLogProofHashesMax = 65;  // of any log of less than 2^64 records

// Secure aggregation. With these the largest roster view fits kRosterHeaderBytesMax: 1.7 MB.
inline constexpr size_t kNeighboursMax = 1024;  // of one device
inline constexpr size_t kCertificateBytesMax = 1024;
inline constexpr size_t kRosterPathDigestsMax = 14;     // one device of kRosterSizeMax: the height of the tree
inline constexpr size_t kRosterProofDigestsMax = 4096;  // kNeighboursMax + 1 of them: 3300, where they lie worst

// Together these keep the largest model that decodes small enough to be encoded again (kFileHeaderBytesMax).
inline constexpr size_t kModelTensorsMax = 16'384;
inline constexpr size_t kModelOpsMax = 16'384;
inline constexpr size_t kModelRankMax = 8;
inline constexpr size_t kModelInputsMax = 64;
inline constexpr size_t kOpOperandsMax = 256;  // and numbers in one of its attributes
inline constexpr int64_t kModelDimensionMax = 1ll << 31;
inline constexpr size_t kModelPropertiesMax = 1024;
inline constexpr size_t kParameterAlignment = 64;
inline constexpr uint64_t kDatasetExamplesMax = 1ull << 32;

}  // namespace coterie::limits

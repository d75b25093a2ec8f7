// Argon2id (RFC 9106) of secrets that are kept only to be compared with: admin tokens. Whoever steals the
// database must pay for every guess.
//
// Text form: the PHC string of the reference implementation, "$argon2id$v=19$m=...,t=...,p=1$salt$hash".
#pragma once

#include <string>
#include <string_view>

namespace coterie {

// What one hash costs: OWASP's Password Storage Cheat Sheet (2023), m = 19 MiB, t = 2, p = 1. Some 20 to 50
// ms.
inline constexpr size_t kSlowHashMemoryBytes = 19 * 1024 * 1024;
inline constexpr unsigned kSlowHashPasses = 2;

// With a fresh salt. Takes kSlowHashMemoryBytes for as long as it runs; empty if there is no such memory.
std::string slow_hash(std::string_view secret);

// Whether `hash` was made of `secret`, in time that does not depend on where they differ. False for text that
// is no hash, and for one that would take more than kSlowHashMemoryBytes or kSlowHashPasses: a database
// cannot make us wait or fill our memory.
bool slow_hash_matches(std::string_view hash, std::string_view secret);

}  // namespace coterie

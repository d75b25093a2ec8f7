// Whether this build has a sanitizer that keeps memory of its own: what was freed, shadows, a large address space. What
// a process then takes says nothing about the product.
#pragma once

namespace coterie::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COT_MEMORY_IS_THE_SANITIZERS
#endif
#endif

#ifdef COT_MEMORY_IS_THE_SANITIZERS
inline constexpr bool kMemoryIsTheSanitizers = true;
#else
inline constexpr bool kMemoryIsTheSanitizers = false;
#endif

}  // namespace coterie::test

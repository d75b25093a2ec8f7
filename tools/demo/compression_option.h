// `--compression` of a demo: a kind of update.compression and its settings in one word.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/demo/options.h"

namespace coterie {

// "eden:bits=2" or "top_k:share=0.05,error_feedback=false"; several settings are joined by commas. invalid_argument
// says what there is.
Result<CompressionSettings> parse_compression(std::string_view text);

// Why the server would refuse it with these options (scheduler/job/compression_rules.h); OK if it would not.
Status check_compression(const DemoOptions& options);

// The option that asks for it, for messages: "--update-bits", "--compression eden".
std::string compression_words(const CompressionSettings& compression);

// What an update is, with what was decided without the user; empty if updates are not compressed.
std::string compression_text(const DemoOptions& options);

}  // namespace coterie

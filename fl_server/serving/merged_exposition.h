// What several processes of one program say of themselves in Prometheus's text format, as one text. Pure.
#pragma once

#include <span>
#include <string>

namespace coterie {

struct ProcessExposition {
  std::string process;  // the value of the label "process" that its samples get; empty: they get none
  std::string text;     // version 0.0.4; of ours, so that it is not checked
};

// Each family once, with the words of who has it first, and with the samples of all.
std::string merged_exposition(std::span<const ProcessExposition> processes);

}  // namespace coterie

// What a simulation came to, for people and for programs.
#pragma once

#include <cstdint>
#include <string>

namespace coterie {

struct DemoResult;
struct ModelScore;
struct RoundReport;
struct SimulateOptions;
struct SimulationInputs;
struct SimulationStory;
struct VirtualRound;

// "accuracy 91.3 %", or "R2 0.812" where the run's target is a number.
std::string score_text(const ModelScore& score, const DemoResult& result);

// summary.json: coterie.simulate.v1, on one line unless `indent` says by how many blanks.
std::string summary_of(const DemoResult& result, const SimulationStory& tally, const SimulateOptions& options,
                       const SimulationInputs& inputs, double seconds, int indent = -1);

// An attempt that ended, as one line of JSON in the words of metrics.csv.
std::string event_of(const RoundReport& round, const VirtualRound& plan);

// The last words of the command. `mean_of_last`: of so many models is what was judged.
std::string told(const DemoResult& result, const SimulationStory& tally, double seconds, uint32_t mean_of_last);

}  // namespace coterie

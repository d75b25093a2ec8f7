// Runs the parties of a training against each other in one thread, and keeps what they said.
#pragma once

#include <gtest/gtest.h>

#include "vertical/trees/train_trees.h"

namespace coterie::vertical::test {

struct Said {
  PartyIndex from = 0;
  PartyIndex to = 0;
  uint16_t kind = 0;
  Bytes payload;
};

// stages[i] is party i; party 0 has the labels. The first error, or nothing.
inline Status run_stages(const std::vector<Stage*>& stages, std::vector<Said>* transcript = nullptr) {
  for (bool moved = true; moved;) {
    moved = false;
    for (PartyIndex from = 0; from < stages.size(); ++from) {
      while (std::optional<Message> message = stages[from]->next()) {
        moved = true;
        const PartyIndex to = message->peer;
        if (transcript != nullptr) transcript->push_back({from, to, message->kind, message->payload});
        message->peer = from;
        if (Status status = stages[to]->receive(*message); !status) return status;
      }
    }
  }
  for (const Stage* stage : stages) EXPECT_TRUE(stage->done());
  return {};
}

}  // namespace coterie::vertical::test

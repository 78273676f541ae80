// Which graphs inside a node run, and how often, as far as the model says. Private to cost/ and plan/.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cost/count_node.h"

namespace ridge::cost {

struct LoopTripCount {
  double count = 1;      // 1 where it is not known
  bool known = false;    // false: only the data decide
  bool certain = false;  // no condition can end it earlier
};

// Of Loop, Scan, SequenceMap; of every other node once, known and certain. `inputs`: its operands; those that are only captured
// by the body may follow.
LoopTripCount trips_of(const model::Node& node, std::span<const Operand> inputs);

// The graphs inside a node, of which one runs: the body of a loop; both sides of If, or the one that a condition chooses whose
// value is known. Empty for every other node.
std::vector<std::shared_ptr<const model::Graph>> bodies_of(const model::Node& node, std::span<const Operand> inputs);

}  // namespace ridge::cost

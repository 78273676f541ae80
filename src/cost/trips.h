// Which graphs inside a node run, and how often, as far as the model determines it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cost/count_node.h"

namespace ridge::cost {

struct LoopTripCount {
  double count = 1;      // 1 if unknown
  bool known = false;    // false: depends on the data
  bool certain = false;  // no condition can end it earlier
};

// For Loop, Scan, SequenceMap; every other node runs once, known and certain. `inputs`: its operands; those that are
// only captured by the body may follow.
LoopTripCount trips_of(const model::Node& node, std::span<const Operand> inputs);

// The graphs inside a node, of which one runs: the body of a loop; both sides of If, or the one chosen by a known
// condition. Empty for every other node.
std::vector<std::shared_ptr<const model::Graph>> bodies_of(const model::Node& node, std::span<const Operand> inputs);

}  // namespace ridge::cost

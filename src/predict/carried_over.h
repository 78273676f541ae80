// Expected share of the datasheet's limits on a device that has not been run: carried over from public measurements of
// other devices.
#pragma once

#include <string>
#include <vector>

#include "base/figure.h"
#include "catalogue/catalogue.h"
#include "cost/costs.h"

namespace ridge::predict {

// Slow end, likely value, fast end.
struct Range {
  double slow = 0, likely = 0, fast = 0;
};
void visit_fields(auto& visit, Is<Range> auto& range) {
  visit("fast", range.fast, Figure().leaves(3));
  visit("likely", range.likely);
  visit("slow", range.slow, Figure().leaves(3));
}

struct CarriedOver {
  Range share = {};                        // of the layer-by-layer roofline
  Range layer_seconds = {};                // minimum time of a layer; limits a fast device at batch 1
  std::vector<std::string> evidence = {};  // sentences: the source, and its validity
};

// For inference; and for a training step, where `layer_seconds` counts per node and pass, whatever the node's size.
CarriedOver carried_over(const catalogue::CatalogueDevice& device, Precision precision);
CarriedOver carried_over_to_training(const catalogue::CatalogueDevice& device, Precision precision);

// Bounds of the layers that an engine runs as separate kernels; elementwise operators are fused into the previous one.
// All bytes of a layer count against DRAM: with the cache's capacity credited, as a bound must, the published results
// spread from 30 to 75 % of the sum, without from 48 to 84 %.
std::vector<cost::Bound> layer_bounds(const cost::Costs& costs, const cost::DeviceLimits& limits);

// Σ max(bound / share, layer_seconds), in milliseconds.
Range predicted_ms(const std::vector<cost::Bound>& layers, const CarriedOver& efficiency);

// passes × (Σ bound / share + nodes × layer_seconds), in milliseconds: a training step's forward and backward passes.
Range predicted_training_ms(const std::vector<cost::Bound>& layers, double nodes, double passes,
                            const CarriedOver& efficiency);

// Breakdown of the likely time, in shares of 1: compute-bound, memory-bound and launch-bound layers.
struct BottleneckShares {
  double compute = 0, memory = 0, start = 0;
};
void visit_fields(auto& visit, Is<BottleneckShares> auto& shares) {
  visit("compute", shares.compute);
  visit("memory", shares.memory);
  visit("start", shares.start);
}
BottleneckShares held_by(const std::vector<cost::Bound>& layers, const CarriedOver& efficiency);

}  // namespace ridge::predict

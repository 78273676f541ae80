// What a device that has not been run is expected to reach of its datasheet's limits: carried over from devices that were
// measured in public. Replaced by a calibration where there is one.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "catalogue/catalogue.h"
#include "cost/costs.h"

namespace ridge::predict {

// From the slow end over the likely value to the fast end.
struct Range {
  double slow = 0, likely = 0, fast = 0;
};
void visit_fields(auto& visit, Is<Range> auto& range) {
  visit("slow", range.slow);
  visit("likely", range.likely);
  visit("fast", range.fast);
}

struct CarriedOver {
  Range share = {};                        // of the layer-by-layer roofline
  Range layer_seconds = {};                // no layer takes less; what holds a fast device back at batch 1
  std::vector<std::string> evidence = {};  // sentences: from where, and how far it holds
};

// Of inference; and of a training step, where `layer_seconds` counts per node and pass, whatever the node's size.
CarriedOver carried_over(const catalogue::CatalogueDevice& device, Precision precision);
CarriedOver carried_over_to_training(const catalogue::CatalogueDevice& device, Precision precision);

// Bounds of the layers that an engine runs as kernels of their own; elementwise operators are fused into the one before.
// All bytes of a layer count against DRAM: with the cache's capacity credited, as a bound must, the published results spread
// from 30 to 75 % of the sum, without from 48 to 84 %.
std::vector<cost::Bound> layer_bounds(const cost::Costs& costs, const cost::DeviceLimits& limits);

// Σ max(bound / share, layer_seconds), in milliseconds.
Range predicted_ms(const std::vector<cost::Bound>& layers, const CarriedOver& efficiency);

// passes × (Σ bound / share + nodes × layer_seconds), in milliseconds: a training step's forward and backward passes.
Range predicted_training_ms(const std::vector<cost::Bound>& layers, double nodes, double passes,
                            const CarriedOver& efficiency);

// Where the likely time goes, as shares that add up to 1: layers that compute, that wait for memory, and that are so short
// that starting them takes longer.
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

// Costs: what a graph must compute and move, and the least time a machine needs for it.
//
// FLOPs: 1 multiply-add = 2. Bytes: each operand of a node once, as stored. Convention and rules: docs/formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "hw/machine.h"
#include "model/graph.h"

namespace ridge::cost {

enum class Limiter { kCompute, kMemory, kUnknown };
std::string_view limiter_name(Limiter limiter);  // "compute", "memory", "unknown"

// What one node does.
struct NodeCost {
  std::string name;
  std::string op;
  double flops = 0;       // multiply-adds count 2; elementary functions count 1 each, stated per rule
  double macs = 0;        // the multiply-adds among them
  double bytes_read = 0;  // activations and weights
  double bytes_written = 0;
  double weight_bytes = 0;  // the weights among bytes_read
  int64_t parameters = 0;
  Precision precision = Precision::kFp32;  // of the arithmetic
  bool has_rule = true;                    // false: no rule for this operator; bytes counted, FLOPs unknown (0)
  bool shapes_known = true;                // false: an input or output shape is unknown; the figures are a lower bound
  double intensity() const { return bytes_read + bytes_written > 0 ? flops / (bytes_read + bytes_written) : 0; }
};

struct Costs {
  std::vector<NodeCost> nodes;
  double flops = 0, macs = 0;
  double bytes = 0;                  // sum over the nodes
  double compulsory_bytes = 0;       // weights + model inputs + model outputs: what no schedule can avoid
  double peak_activation_bytes = 0;  // most bytes of live activations at one time, in node order, freed after last use
  int64_t parameters = 0;
  double weight_bytes = 0;
  std::vector<std::string> without_rule;  // distinct operators, "domain.Op × n"
};

// `precision` replaces FP32 arithmetic and storage when it is not kFp32 (a model stored in FP16 or INT8 keeps its own).
Costs count(const model::Graph& graph, Precision precision = Precision::kFp32);

// The limits of a device, as the roofline needs them.
struct DeviceLimits {
  struct Level {
    std::string name;  // "L1" … "DRAM"
    double bytes_per_s = 0;
    double capacity_bytes = 0;  // infinite for the last
  };
  std::string device;
  int threads = 1;
  std::vector<std::pair<Precision, double>> flops_per_s;
  std::vector<Level> levels;  // nearest first
  Origin origin = Origin::kMeasured;
};
// The measured limits for `threads` threads; an error if the machine was not measured.
Result<DeviceLimits> limits_of(const hw::Machine& machine, int threads);

// A lower bound on time. Compute: flops / peak. Memory: the largest over the levels of (bytes that do not fit in the
// nearer level) / bandwidth, so that data which can stay in a cache is never charged to DRAM.
struct Bound {
  double ms = 0;
  double compute_ms = 0;
  double memory_ms = 0;
  Limiter limiter = Limiter::kUnknown;
};
Bound bound(double flops, double bytes, Precision precision, const DeviceLimits& limits);
Bound bound(const NodeCost& node, const DeviceLimits& limits);
// For the whole model: sum of flops per precision over their peaks, against the compulsory bytes. No fusion, schedule or
// cache can beat it.
Bound bound(const Costs& costs, const DeviceLimits& limits);

}  // namespace ridge::cost

// Costs: what a graph must compute and move, and the least time a machine needs for it.
//
// FLOPs: 1 multiply-add = 2. Bytes: each operand of a node once, as stored. Convention and rules: docs/methods.md.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "catalogue/catalogue.h"
#include "machine/machine.h"
#include "model/graph.h"

namespace ridge::cost {

enum class Limiter { kCompute, kMemory, kUnknown };
std::string_view limiter_name(Limiter limiter);  // "compute", "memory", "unknown"

// What one node does.
struct NodeCost {
  std::string name;
  std::string op;
  double flops = 0;  // as published counts have it: multiply-adds count 2, elementary functions 1; stated per rule
  double macs = 0;   // the multiply-adds among them
  double needed_flops = 0;  // ≤ flops: multiply-adds that no engine can leave out; what a bound may count
  double bytes_read = 0;    // activations and weights
  double bytes_written = 0;
  double weight_bytes = 0;  // the weights among bytes_read
  int64_t parameters = 0;
  Precision precision = Precision::kFp32;  // of the arithmetic
  bool has_rule = true;                    // false: no rule for this operator; bytes counted, FLOPs unknown (0)
  bool shapes_known = true;                // false: an input or output shape is unknown; the figures are a lower bound
  bool runs = true;  // false: computed once when the model is loaded, or its result is not used; all figures 0
  double intensity() const { return bytes_read + bytes_written > 0 ? flops / (bytes_read + bytes_written) : 0; }
};

struct Costs {
  std::vector<NodeCost> nodes;  // as in the graph
  double flops = 0, macs = 0;
  double bytes = 0;                  // sum over the nodes
  double compulsory_read = 0;        // model inputs and the weights of multiply-add operators, once each
  double compulsory_written = 0;     // model outputs
  double compulsory_bytes = 0;       // both: what no schedule can avoid
  double peak_activation_bytes = 0;  // most bytes of live activations at one time, in node order, freed after last use
  int64_t parameters = 0;            // elements of floating-point or quantised weights that the graph uses
  double weight_bytes = 0;
  std::vector<std::string> without_rule;    // distinct operators, "domain.Op × n"
  std::vector<std::string> unknown_shapes;  // nodes whose figures are a lower bound because a shape is unknown
};

// `precision` replaces FP32 arithmetic and storage when it is not kFp32 (a model stored in FP16 or INT8 keeps its own).
Costs count(const model::Graph& graph, Precision precision = Precision::kFp32);

// The limits of a device, as the roofline needs them.
struct DeviceLimits {
  struct Level {
    std::string name;           // "L1" … "DRAM"
    double bytes_per_s = 0;     // 0: not measured; its capacity still counts
    double capacity_bytes = 0;  // infinite for the last
  };
  std::string device;
  int threads = 1;
  std::vector<std::pair<Precision, double>> flops_per_s;
  std::vector<Level> levels;  // nearest first
  Origin origin = Origin::kMeasured;
  struct Remark {
    std::optional<Precision> precision;  // to be said when arithmetic at this precision is bounded; absent: always
    std::string text;
  };
  std::vector<Remark> remarks;
  // Where each limit of a GPU comes from; empty for others: the CPU's are all measured (machine::Machine has their spread), those
  // of a device of the catalogue its datasheet's.
  struct Basis {
    std::string what;  // "fp16", "DRAM"
    double per_s = 0;  // [FLOP/s] or [bytes/s]
    Origin origin = Origin::kDatasheet;
    double spread_percent = 0;             // of what was measured
    std::string by = {};                   // how: "cuBLASLt", "read"
    std::optional<double> datasheet = {};  // beside what was measured
  };
  std::vector<Basis> bases;
  std::vector<Precision> unknown;  // the device has units for them whose rate is not known: no other rate stands for it
};
// The peak of the device's units for `precision` [FLOP/s]; 0: there is none, or it is not known.
double own_rate(const DeviceLimits& limits, Precision precision);
// nullptr: that limit has none.
const DeviceLimits::Basis* basis_of(const DeviceLimits& limits, std::string_view what);
// Of what bounds arithmetic at `precision` on data in memory: measured where both limits are.
Origin origin_at(const DeviceLimits& limits, Precision precision);
Json to_json(const DeviceLimits::Basis& basis);
Result<DeviceLimits::Basis> basis_from_json(const Json& json);
// The measured limits for `threads` threads; an error if the machine was not measured.
Result<DeviceLimits> limits_of(const machine::Machine& machine, int threads);

// Which peak bounds FP16 and FP8 where a device multiplies faster when it also accumulates in FP16 (GeForce RTX 20 to 50).
enum class Accumulate {
  kAny,   // the faster: what no engine can beat, so what a bound must take
  kFp32,  // with FP32 accumulators, as ONNX Runtime, cuBLAS and PyTorch compute by default: what a prediction takes
};
// The limits of a device of the catalogue, from its datasheet: peaks at boost clock, the last cache on the die by its
// capacity, and DRAM. Errors: no bandwidth or no peak has a source, so that nothing would bound it.
Result<DeviceLimits> limits_of(const catalogue::CatalogueDevice& device, Accumulate accumulate = Accumulate::kAny);

// The rate that bounds arithmetic at `precision`. Where the device has no units for it: the rate of what an engine uses
// instead, never below it, and `note` says so. Empty note: measured. Rate 0: nothing is known.
struct Rate {
  double flops_per_s = 0;
  std::string note;
};
Rate rate_of(const DeviceLimits& limits, Precision precision);

// A lower bound on time: the larger of
//   compute: needed FLOPs / peak
//   memory: the largest over the levels of (bytes − capacity of all nearer levels) / bandwidth of the level, so that data
//   which can stay in a cache is never charged to the level behind it.
// Bytes are those read or those written, whichever is more: links between caches, and to memory, carry both at a time (on
// an EPYC an in-place update moved 47 GB/s where reading alone reached 34), so their sum would not be a bound.
struct Bound {
  double ms = 0;
  double compute_ms = 0;
  double memory_ms = 0;
  Limiter limiter = Limiter::kUnknown;
};
Bound bound(double needed_flops, double bytes, Precision precision, const DeviceLimits& limits);
// `bytes` is the larger of read and written.
Bound bound(const NodeCost& node, const DeviceLimits& limits);
// For the whole model: the needed FLOPs per precision over their peaks, against the compulsory bytes. No fusion, folding,
// schedule or cache can beat it (an algorithm with fewer multiplications, as Winograd's, could).
Bound bound(const Costs& costs, const DeviceLimits& limits);
// Sentences on what the bound had to assume: rates taken from another precision, operators without a rule.
std::vector<std::string> notes(const Costs& costs, const DeviceLimits& limits);
// Those on the limits alone, for arithmetic at these precisions.
std::vector<std::string> notes(const DeviceLimits& limits, const std::set<Precision>& used);

}  // namespace ridge::cost

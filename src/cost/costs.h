// Costs: what a graph must compute and move, and the least time a machine needs for it.
//
// FLOPs: 1 multiply-add = 2. Bytes: each operand of a node once, as stored. Convention and rules: docs/methods.md.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/units.h"
#include "catalogue/catalogue.h"
#include "cost/operators.h"
#include "machine/machine.h"
#include "model/graph.h"

namespace ridge::cost {

enum class Limiter { kCompute, kMemory, kUnknown };
NameTable<Limiter> names_of(Limiter);
std::string_view limiter_name(Limiter limiter);  // "compute", "memory", "unknown"

// The cost of one node.
struct NodeCost {
  std::string name;
  std::string op;
  double flops = 0;         // as in published counts: multiply-adds count 2, elementary functions 1; stated per rule
  double macs = 0;          // the multiply-adds among them
  double data_flops = 0;    // beside flops: at most this many more, as the data decide
  double needed_flops = 0;  // ≤ flops: multiply-adds that no engine can avoid; the ones that a bound counts
  double bytes_read = 0;    // activations and weights
  double bytes_written = 0;
  double weight_bytes = 0;  // the weights among bytes_read
  int64_t parameters = 0;
  Precision precision = Precision::kFp32;  // of the arithmetic
  bool has_rule = true;                    // false: no rule for this operator; bytes counted, FLOPs unknown (0)
  bool shapes_known = true;                // false: an input or output shape is unknown; the figures are a lower bound
  KernelFamily kernel = KernelFamily::kOtherKernel;
  bool runs = true;  // false: computed once when the model is loaded, or its result is not used; all figures 0
  double intensity() const { return bytes_read + bytes_written > 0 ? flops / (bytes_read + bytes_written) : 0; }
};

struct Costs {
  std::vector<NodeCost> nodes;  // as in the graph
  double flops = 0, macs = 0, data_flops = 0;
  double bytes = 0;                  // sum over the nodes
  double compulsory_read = 0;        // model inputs and the weights of multiply-add operators, once each
  double compulsory_written = 0;     // model outputs
  double compulsory_bytes = 0;       // both: unavoidable by any schedule
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
    std::optional<Precision> precision;  // stated when arithmetic at this precision is bounded; absent: always
    std::string text;
  };
  std::vector<Remark> remarks;
  // The source of each limit of a GPU; empty for others: the CPU's are all measured (sources_of() tells how), those of
  // a device of the catalogue come from its datasheet.
  struct Source {
    std::string what;  // "fp16", "DRAM"
    double per_s = 0;  // [FLOP/s] or [bytes/s]
    Origin origin = Origin::kDatasheet;
    double spread_percent = 0;             // if measured
    std::string by = {};                   // how: "cuBLASLt", "read"
    std::optional<double> datasheet = {};  // beside the measured one
  };
  std::vector<Source> sources;
  std::vector<Precision> unknown;  // the device has units of unknown rate for it: no other rate replaces it
};
void visit_fields(auto& visit, Is<DeviceLimits::Source> auto& source) {
  visit("what", source.what, means("a precision or a level of memory: `fp16`, `DRAM`"));
  visit("per_s", source.per_s, means("FLOPs or bytes"));
  visit("origin", source.origin);
  visit.when(source.origin == Origin::kMeasured, [&](auto& then) {
    then.optional("spread_percent", source.spread_percent, means("of a measured one"));
    then.optional("by", source.by, means("what measured it: `cuBLASLt`, `read`"));
    then("datasheet_per_s", source.datasheet, means("beside a measured one; null: not known"));
  });
}
// The peak of the device's units for `precision` [FLOP/s]; 0: there is none, or it is not known.
double own_rate(const DeviceLimits& limits, Precision precision);
// The source of each rate of a CPU's limits, as limits_of(machine, …) has them: how it was measured, its spread.
std::vector<DeviceLimits::Source> sources_of(const machine::Machine& machine, const DeviceLimits& limits);
// nullptr: no such limit.
const DeviceLimits::Source* source_of(const DeviceLimits& limits, std::string_view what);
// Origin of the bound of arithmetic at `precision` on data in memory: measured if both limits are.
Origin origin_at(const DeviceLimits& limits, Precision precision);
// The measured limits for `threads` threads; an error if the machine was not measured.
Result<DeviceLimits> limits_of(const machine::Machine& machine, int threads);

// The peak that bounds FP16 and FP8 on devices that are faster with FP16 accumulation (GeForce RTX 20 to 50).
enum class Accumulate {
  kAny,   // the faster: no engine can beat it, so bounds use it
  kFp32,  // with FP32 accumulators, the default of ONNX Runtime, cuBLAS and PyTorch; predictions use it
};
// The limits of a device of the catalogue, from its datasheet: peaks at boost clock, the last cache on the die by its
// capacity, and DRAM. Errors: no bandwidth or no peak has a source, so that it has no bound.
Result<DeviceLimits> limits_of(const catalogue::CatalogueDevice& device, Accumulate accumulate = Accumulate::kAny);

// The rate that bounds arithmetic at `precision`: that of its own units, or of what an engine can use instead, if
// faster or needed; then `note` says so. FP32 units compute narrower data too. Empty note: its own. Rate 0: unknown.
struct Rate {
  double flops_per_s = 0;
  std::string note;
  Precision peak = Precision::kFp32;  // whose units
};
Rate rate_of(const DeviceLimits& limits, Precision precision);

// A lower bound on time: the larger of
//   compute: needed FLOPs / peak
//   memory: the largest over the levels of (bytes − nearer levels' capacity) / the level's bandwidth, so that data
//   which can stay in a cache is never charged to the level behind it.
// Bytes are the larger of those read and those written: links between caches, and to memory, carry both at once (on
// an EPYC an in-place update moved 47 GB/s where reading alone reached 34), so their sum would not be a bound.
struct Bound {
  double ms = 0;  // 0: not known
  double compute_ms = 0;
  double memory_ms = 0;
  Limiter limiter = Limiter::kUnknown;
};
void visit_fields(auto& visit, Is<Bound> auto& bound) {
  visit.or_null("bound_ms", bound.ms, Figure().column("bound").csv());
  visit("compute_bound_ms", bound.compute_ms, Figure().csv());
  visit("memory_bound_ms", bound.memory_ms, Figure().csv());
  visit("limiter", bound.limiter, Figure().column("limiter").leaves(1).csv());
}
Bound bound(double needed_flops, double bytes, Precision precision, const DeviceLimits& limits);
// `bytes` is the larger of read and written.
Bound bound(const NodeCost& node, const DeviceLimits& limits);
// For the whole model: the needed FLOPs per precision over their peaks, against the compulsory bytes. No fusion,
// folding, schedule or cache can beat it (an algorithm with fewer multiplications, as Winograd's, could). Not known
// where most of the arithmetic has no rule or no known shape: as many nodes as those with FLOPs, or more.
Bound bound(const Costs& costs, const DeviceLimits& limits);
// The arithmetic of a model at one precision, and what bounds it.
struct BoundShare {
  Precision precision = Precision::kFp32;
  Precision peak = Precision::kFp32;  // whose units bound it, as rate_of() says
  double flops_per_s = 0;             // their rate; 0: not known
  double percent = 0;                 // of the time that the bound gives to arithmetic
};
void visit_fields(auto& visit, Is<BoundShare> auto& arithmetic) {
  visit("precision", arithmetic.precision);
  visit("peak", arithmetic.peak, means("whose units bound it"));
  visit("flops_per_s", arithmetic.flops_per_s, means("their rate; 0: not known").in("FLOP/s"));
  visit("percent", arithmetic.percent, means("of the time that the bound gives to arithmetic"));
}
// The longest first; empty: nothing is multiplied.
std::vector<BoundShare> arithmetic_of(const Costs& costs, const DeviceLimits& limits);
// "int8, fp32": of those with a hundredth of the time and more; `otherwise` if there is none.
std::string precisions_text(const std::vector<BoundShare>& arithmetic, Precision otherwise);

// Assumptions of the bound, as sentences: rates taken from another precision, operators without a rule.
std::vector<std::string> notes(const Costs& costs, const DeviceLimits& limits);
// Notes on the limits alone, for arithmetic at these precisions.
std::vector<std::string> notes(const DeviceLimits& limits, const std::set<Precision>& used);

}  // namespace ridge::cost

// An experiment: the same work done in several ways (variants), a slow reference for the results, and the two variants
// that a claim compares. Plain values: an experiment runs on every device, and its kernels compile without one.
//
// Does not measure (lab/ledger.h) or run (lab/device.h). Immutable once built.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/launch.h"
#include "gpu/step.h"
#include "measure/claim.h"

namespace ridge::lab {

// Kernels (CUDA, OpenCL), or functions of this program on one CPU thread.
enum class Family { kKernels, kNative };

// The setup an experiment is built for.
struct Target {
  Family family = Family::kKernels;
  int64_t last_cache_bytes = 0;     // the cache that arrays must exceed where memory is compared
  int64_t multiprocessors = 0;      // of a GPU; 0: not known
  int64_t threads_per_block = 256;  // upper limit
  bool cpu = false;                 // kernels run on a CPU: sizes for its speed, not for a GPU's
  bool unified_memory = false;      // gpu::MemoryKind::kUnified works
  int cpus = 1;                     // Family::kNative: usable by this process
  bool library = false;             // the vendor's matrix multiplication library is present
  int architecture = 0;             // of a CUDA device: 89 of sm_89; 0: not CUDA
  int compiled_for = 0;             // where the compiler does not know the device's: that of its code; 0: the device's
  bool warp_groups = false;  // Hopper's instructions can be compiled and tensor maps made (kernels/warp_group.cu)
  bool small = false;        // the smallest size that uses every part of the code: for tests
};

using Buffers = std::vector<std::vector<float>>;
// The right value of an output's index, from the buffers' initial content. NaN: not computed, any number passes.
using Reference = std::function<double(const Buffers& initial, size_t index)>;

// The buffers of a case, in the CPU's memory, each aligned to a cache line.
using NativeBuffers = std::span<const std::span<float>>;

struct Variant {
  std::string name;                           // "stride 32"
  std::vector<gpu::Launch> launches;          // Family::kKernels, in sequence; or, with host operations between them,
  std::vector<gpu::Step> steps;               // these
  bool recorded = false;                      // recorded once and launched whole: a CUDA graph
  std::function<void(NativeBuffers)> native;  // Family::kNative
  size_t expected = 0;                        // index of the expected result
  bool limit = false;                         // computes nothing to check: a reference for speed
  std::optional<size_t> output;               // the checked buffer, if not the case's
  std::optional<double> work;                 // bytes or FLOPs of one run, if not the case's
  std::optional<double> tolerance;            // if not the case's
  std::optional<double> at;                   // value of the case's parameter
};

struct Comparison {
  std::string claim;  // "L04"
  size_t variant = 0, baseline = 0;
  std::string because;                                // one sentence: why one should be faster, in figures of this case
  std::optional<measure::ClaimedFigure> figure = {};  // absent: the claim's
};

// Sums of all rows of a result, of which the reference computes a few: a wrong value elsewhere changes one.
struct RowSums {
  std::vector<float> weights;    // 1 or −1, of the columns
  std::vector<double> expected;  // of the rows
};

// The timed part of a run: the device's time alone, or all until the host knows that it ended.
enum class TimeScope { kDevice, kWhole };

struct Case {
  std::string title;                    // what is done, and how much
  std::string kernels;                  // names of the texts in lab/kernels.h; may be empty
  std::string parameter;                // what varies between variants: "stride"; may be empty
  std::function<void(Case&)> fill;      // makes the buffers, and the sums or values expected that take long
  Buffers buffers;                      // initial content; variants read and write them by index
  std::vector<gpu::MemoryKind> memory;  // of the buffers; those beyond its end are in the device's memory
  size_t output = 0;                    // the checked buffer
  std::vector<Reference> expected;
  std::optional<RowSums> sums;  // of the results whose reference is the first
  double tolerance = 0;         // |got − expected| ≤ tolerance · max(1, |expected|)
  double bytes = 0;             // that any variant must read and write [bytes], or
  double flops = 0;             // operations that it must do; of one run
  TimeScope time_scope = TimeScope::kDevice;
  std::vector<Variant> variants;
  std::vector<Comparison> comparisons;
};

struct Experiment {
  std::string_view name;   // "coalescing"; also of its files
  std::string_view title;  // the question
  std::vector<std::string_view> claims;
  std::vector<Case> (*cases)(const Target& target);  // not filled; none where this family has no equivalent
};

// All experiments, in the order of their claims.
std::span<const Experiment> all_experiments();

}  // namespace ridge::lab

// What an experiment is: the same work done in several ways (variants), a slow reference that says what must come out, and
// which two ways a claim compares. Plain values: the same experiment runs on every device, and its kernels compile with
// no device at all.
//
// Not for measuring (lab/ledger.h) nor for running (lab/device.h). Immutable once made.
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
#include "lab/claim.h"

namespace ridge::lab {

// Who runs it: kernels (CUDA, OpenCL), or functions of this program on one thread of the CPU.
enum class Family { kKernels, kNative };

// For what an experiment is made.
struct Target {
  Family family = Family::kKernels;
  int64_t last_cache_bytes = 0;     // the cache that arrays must not fit where memory is what is compared
  int64_t threads_per_block = 256;  // at most
  bool cpu = false;                 // kernels run on a CPU: sizes for its speed, not for a GPU's
  bool unified_memory = false;      // gpu::MemoryKind::kUnified works
  int cpus = 1;                     // Family::kNative: that this process may use
  bool library = false;             // the vendor's library of matrix multiplications is there
  int architecture = 0;             // of a CUDA device: 89 of sm_89; 0: it is none
  bool small = false;               // the smallest size that uses every part of the code: for tests
};

// The buffers of a case, in the CPU's memory, each aligned to a cache line.
using NativeBuffers = std::span<const std::span<float>>;

struct Variant {
  std::string name;                   // "stride 32"
  std::vector<gpu::Launch> launches;  // Family::kKernels, one after another; or, with what the host does around them,
  std::vector<gpu::Step> steps;       // these
  bool recorded = false;              // recorded once and started whole: a CUDA graph
  std::function<void(NativeBuffers)> native;  // Family::kNative
  size_t expected = 0;                        // which of the case's results must come out
  bool limit = false;            // computes nothing that could be checked: what others are measured against
  std::optional<size_t> output;  // the buffer that is checked, where it is not the case's
  std::optional<double> work;    // bytes or FLOPs of one run, where they are not the case's
  std::optional<double> at;      // value of the case's parameter
};

struct Comparison {
  std::string claim;  // "L04"
  size_t variant = 0, baseline = 0;
  std::string because;           // one sentence: why the one should be faster, in figures of this case
  std::optional<Figure> figure;  // absent: the claim's
};

// What of a run counts: the time on the device alone, or all until the host knows that it ended.
enum class TimeScope { kDevice, kWhole };

struct Case {
  std::string title;                         // what is done, and how much of it
  std::string kernels;                       // names of the texts in lab/kernels.h; may be empty
  std::string parameter;                     // what varies from variant to variant: "stride"; may be empty
  std::vector<std::vector<float>> buffers;   // content at the start; variants read and write them by number
  std::vector<gpu::MemoryKind> memory;       // of the buffers; those beyond its end lie in the device's own
  size_t output = 0;                         // the buffer that is checked
  std::vector<std::vector<float>> expected;  // by the reference; as long as the output or shorter
  double tolerance = 0;                      // |got − expected| ≤ tolerance · max(1, |expected|)
  double bytes = 0;                          // that any variant must read and write [bytes], or
  double flops = 0;                          // operations that it must do; of one run
  TimeScope time_scope = TimeScope::kDevice;
  std::vector<Variant> variants;
  std::vector<Comparison> comparisons;
};

struct Experiment {
  std::string_view name;   // "coalescing"; also of its files
  std::string_view title;  // what is asked
  std::vector<std::string_view> claims;
  std::vector<Case> (*cases)(const Target& target);  // none where this family has no such thing
};

// All of them, in the order of their claims.
std::span<const Experiment> all_experiments();

}  // namespace ridge::lab

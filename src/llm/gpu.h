// A GPU as predictions of language models need it: limits from its datasheet, and the laws of its kernels
// (data/kernel_laws.csv): a few numbers per kernel and dtype that stand for NVIDIA's published measurements. A GPU that
// was not measured has the laws of all others. Immutable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "catalogue/catalogue.h"
#include "llm/format.h"

namespace ridge::llm {

// Columns of data/kernel_laws.csv; kernels.h has the formulas. A parameter that a kernel does not have is 0 (norm: 1).
struct KernelLaw {
  double t0_us = 0;
  double compute_efficiency = 1, memory_efficiency = 1;
  double norm = 1;
  double k_ramp = 0, extra_us = 0, small_tile_factor = 1;
  double tile_rows = 1, ep_skew = 0, us_per_100_experts = 0, ep_us = 0;
  double ramp_us = 0, length_ramp = 0;
  double median_error_percent = 0;
  bool own = false;  // fitted on this GPU
};

// Between nodes, per GPU and way: InfiniBand of 400 Gbit/s, of which transfers reach 80 % (assumed, as in NVIDIA's DGX
// H100 and B200 systems).
inline constexpr double kNetworkBytesPerSecond = 0.8 * 50e9;

struct Gpu {
  std::string name, vendor;
  double capability = 0;  // compute capability: 8.9; 0: none
  std::map<Precision, double> flops_per_s;
  double bytes_per_s = 0;
  double multiprocessors = 0;
  double link_bytes_per_s = 0;  // one way, between GPUs
  bool has_nvlink = false;
  bool link_unknown = false;  // it has another link than PCIe, whose rate has no source: the PCIe's is taken
  double link_gpus = 8;       // that the link joins; beyond are nodes on a network
  double memory_bytes = 0;    // 0: not known
  double power_w = 0;         // 0: not known
  std::map<std::pair<std::string, std::string>, KernelLaw> laws;  // by kernel and dtype
  double start_share = 1;     // of a kernel's fixed time that remains where kernels follow one another
  KernelLaw decode, prefill;  // of attention: asked for in every step of a simulation

  // Rate of the dense arithmetic [FLOP/s]; 0: the GPU has no units for it, or none with a source.
  double rate(Precision arithmetic) const;
  bool computes(WeightFormat format) const { return rate(facts_of(format).arithmetic) > 0; }
};

// Errors: no bandwidth, or no rate of 16-bit arithmetic with a source.
Result<Gpu> gpu_of(const catalogue::CatalogueDevice& device);
// The same with a text in place of data/kernel_laws.csv, for tests; rows of `without` are skipped.
Result<Gpu> gpu_of(const catalogue::CatalogueDevice& device, std::string_view laws, std::string_view without = {});

// Rates that `ridge bench device` measured on a GPU of one's own. 0 or missing: not measured.
struct MeasuredRates {
  struct Peak {
    double best = 0, typical = 0;  // [FLOP/s]
    double depth = 0;              // k of the library's matrix multiplication that reached it; 0: bare instructions did
  };
  std::map<Precision, Peak> peaks;  // kBf16, kFp8: those that laws exist for
  double bytes_per_s = 0;           // that one kernel reads
};
// The limits become the measured ones. Laws keep their shape and hold as shares of them:
//   memory     e / 0.93: a kernel that only reads reaches 0.93 of the datasheet's bandwidth (H100; cost/gpu_limits)
//   compute    of all kernels of that arithmetic, so that a GEMM as deep as the measured one takes as long as it did;
//              unchanged where bare instructions were measured
Gpu measured_gpu(Gpu gpu, const MeasuredRates& rates);

// The law of a kernel; nullptr only if the table has no row for any GPU.
const KernelLaw* law_of(const Gpu& gpu, std::string_view kernel, std::string_view dtype);

}  // namespace ridge::llm

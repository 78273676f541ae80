// A GPU as described by NVIDIA's management library (gpu/nvml.h) or the kernel's files (AMD and Intel:
// machine/kernel_gpus.h): identity, state and limits at one moment. A plain value, printable as JSON and readable back;
// each field is a value or the reason why there is none (too old a library, no permission, not supported by this GPU,
// GPU lost, undefined for this vendor). Units are in the names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/figure.h"
#include "gpu/reading.h"

namespace ridge::gpu {

struct GpuProcess {
  int64_t pid = 0;
  int64_t memory_bytes = -1;  // -1: not reported (in a container, under MIG)
};
void visit_fields(auto& visit, Is<GpuProcess> auto& process) {
  visit("pid", process.pid);
  visit.optional("memory_bytes", process.memory_bytes);
}

// A direct link to another GPU or to a switch: NVLink.
struct PeerLink {
  int index = 0;
  bool up = false;
  Reading<std::string> remote;  // PCI address of the other end
  Reading<int64_t> replays;     // retransmitted packets, since the driver started, like the two below
  Reading<int64_t> recoveries;  // retrainings of the link
  Reading<int64_t> crc_errors;  // received flow control units with a wrong checksum, which are retransmitted
};
void visit_fields(auto& visit, Is<PeerLink> auto& link) {
  visit("index", link.index);
  visit("up", link.up);
  visit("remote", link.remote);
  visit("replays", link.replays);
  visit("recoveries", link.recoveries);
  visit("crc_errors", link.crc_errors);
}

// A part of a GPU that is its own device: NVIDIA's MIG.
struct GpuSlice {
  int index = 0;                      // within the GPU
  Reading<std::string> uuid;          // value for CUDA_VISIBLE_DEVICES
  Reading<std::string> name;          // with its profile: "… MIG 3g.40gb"
  Reading<int64_t> gpu_instance;      // number of its part of the chip
  Reading<int64_t> compute_instance;  // and of its share of that part
  Reading<int64_t> gpu_slices;        // of the chip: an A100 has seven, an A30 four (MIG User Guide)
  Reading<int64_t> compute_slices;
  Reading<int64_t> multiprocessors;
  Reading<int64_t> memory_total_bytes;
  Reading<int64_t> memory_used_bytes;
};
void visit_fields(auto& visit, Is<GpuSlice> auto& slice) {
  visit("index", slice.index);
  visit("uuid", slice.uuid);
  visit("name", slice.name);
  visit("gpu_instance", slice.gpu_instance);
  visit("compute_instance", slice.compute_instance);
  visit("gpu_slices", slice.gpu_slices);
  visit("compute_slices", slice.compute_slices);
  visit("multiprocessors", slice.multiprocessors);
  visit("memory_total_bytes", slice.memory_total_bytes);
  visit("memory_used_bytes", slice.memory_used_bytes);
}

struct Gpu {
  int index = 0;  // as the library counts
  // Why the GPU as a whole does not answer: lost, needs a reset, no permission; empty: it answers.
  std::string failure;

  Reading<std::string> name;
  Reading<std::string> uuid;
  Reading<std::string> pci_address;         // "0000:3b:00.0", as in /sys/bus/pci/devices
  Reading<std::string> architecture;        // "Hopper"
  Reading<std::string> compute_capability;  // "9.0"
  Reading<int64_t> cores;                   // lanes that compute FP32
  Reading<int64_t> memory_total_bytes;
  Reading<int64_t> memory_used_bytes;  // by all, including the driver
  Reading<int64_t> memory_bus_bits;
  Reading<int64_t> utilization_percent;
  Reading<bool> ecc;
  Reading<int64_t> ecc_corrected;  // errors since the driver started
  Reading<int64_t> ecc_uncorrected;
  Reading<int64_t> ecc_corrected_ever;
  Reading<int64_t> ecc_uncorrected_ever;
  Reading<int64_t> rows_remapped;  // memory rows replaced by spare ones, ever; AMD: retired pages
  Reading<bool> row_remap_pending;
  Reading<bool> row_remap_failed;
  Reading<bool> persistence;
  Reading<int64_t> compute_mode;           // NVIDIA: 0 default, 1 exclusive thread, 2 prohibited, 3 exclusive process
  Reading<int64_t> performance_state;      // NVIDIA: 0 fastest … 15
  Reading<std::string> performance_level;  // AMD: "auto", or the set level: "low", "manual", …
  Reading<int64_t> slowdown_bits;          // of every vendor in the same coding, see gpu/slowdown.h
  Reading<bool> mig;
  Reading<int64_t> mig_instances;
  Reading<std::string> partition;  // AMD: "SPX" (whole), "DPX", "TPX", "QPX", "CPX"
  Reading<int64_t> pcie_generation;
  Reading<int64_t> pcie_generation_max;  // of GPU and slot together
  Reading<int64_t> pcie_width;           // [lanes]
  Reading<int64_t> pcie_width_max;
  Reading<int64_t> pcie_replays;  // packets retransmitted since the driver started
  Reading<int64_t> temperature_c;
  Reading<int64_t> slowdown_temperature_c;
  Reading<int64_t> power_mw;
  Reading<int64_t> power_limit_mw;      // enforced
  Reading<int64_t> power_limit_set_mw;  // requested; the enforced one is lower if something else limits too
  Reading<int64_t> power_limit_default_mw;
  Reading<int64_t> power_limit_min_mw;
  Reading<int64_t> power_limit_max_mw;
  Reading<int64_t> energy_mj;  // since the driver started [millijoule]
  Reading<int64_t> sm_clock_mhz;
  Reading<int64_t> sm_clock_max_mhz;
  Reading<int64_t> memory_clock_mhz;
  Reading<int64_t> memory_clock_max_mhz;
  Reading<int64_t> peer_links;        // of the GPU, up or down
  std::vector<PeerLink> links;        // each of them
  std::vector<GpuSlice> slices;       // of MIG
  std::vector<GpuProcess> processes;  // that compute
};

// Every Reading of a GPU, in the order above; some with their figure.
void visit_readings(Is<Gpu> auto& gpu, auto&& visit) {
  visit("name", gpu.name, Figure().column("GPU"));
  visit("uuid", gpu.uuid);
  visit("pci_address", gpu.pci_address, Figure().column("address"));
  visit("architecture", gpu.architecture);
  visit("compute_capability", gpu.compute_capability);
  visit("cores", gpu.cores);
  visit("memory_total_bytes", gpu.memory_total_bytes, Figure().column("memory"));
  visit("memory_used_bytes", gpu.memory_used_bytes, Figure().column("in use"));
  visit("memory_bus_bits", gpu.memory_bus_bits);
  visit("utilization_percent", gpu.utilization_percent);
  visit("ecc", gpu.ecc);
  visit("ecc_corrected", gpu.ecc_corrected);
  visit("ecc_uncorrected", gpu.ecc_uncorrected);
  visit("ecc_corrected_ever", gpu.ecc_corrected_ever);
  visit("ecc_uncorrected_ever", gpu.ecc_uncorrected_ever);
  visit("rows_remapped", gpu.rows_remapped);
  visit("row_remap_pending", gpu.row_remap_pending);
  visit("row_remap_failed", gpu.row_remap_failed);
  visit("persistence", gpu.persistence);
  visit("compute_mode", gpu.compute_mode);
  visit("performance_state", gpu.performance_state);
  visit("performance_level", gpu.performance_level);
  visit("slowdown_bits", gpu.slowdown_bits);
  visit("mig", gpu.mig);
  visit("mig_instances", gpu.mig_instances);
  visit("partition", gpu.partition);
  visit("pcie_generation", gpu.pcie_generation);
  visit("pcie_generation_max", gpu.pcie_generation_max);
  visit("pcie_width", gpu.pcie_width);
  visit("pcie_width_max", gpu.pcie_width_max);
  visit("pcie_replays", gpu.pcie_replays);
  visit("temperature_c", gpu.temperature_c, Figure().column("temperature").in("°C"));
  visit("slowdown_temperature_c", gpu.slowdown_temperature_c);
  visit("power_mw", gpu.power_mw, Figure().column("power draw").in("mW"));
  visit("power_limit_mw", gpu.power_limit_mw, Figure().column("power limit").in("mW"));
  visit("power_limit_set_mw", gpu.power_limit_set_mw);
  visit("power_limit_default_mw", gpu.power_limit_default_mw);
  visit("power_limit_min_mw", gpu.power_limit_min_mw);
  visit("power_limit_max_mw", gpu.power_limit_max_mw);
  visit("energy_mj", gpu.energy_mj);
  visit("sm_clock_mhz", gpu.sm_clock_mhz, Figure().column("clock").in("MHz"));
  visit("sm_clock_max_mhz", gpu.sm_clock_max_mhz);
  visit("memory_clock_mhz", gpu.memory_clock_mhz);
  visit("memory_clock_max_mhz", gpu.memory_clock_max_mhz);
  visit("peer_links", gpu.peer_links);
}

void visit_fields(auto& visit, Is<Gpu> auto& gpu) {
  visit("index", gpu.index);
  visit.unless_empty("failure", gpu.failure);
  visit_readings(gpu, visit);
  visit.unless_empty("links", gpu.links);
  visit.unless_empty("slices", gpu.slices);
  visit.optional("processes", gpu.processes);
}

// How two GPUs are connected on the PCI bus: "PIX" under one switch, "PXB" under several, "PHB" under one host bridge,
// "NODE" in one memory node, "SYS" only between CPUs; "X" on one board (terms of nvidia-smi topo).
struct GpuPair {
  int first = 0, second = 0;  // GPU::index, first < second
  Reading<std::string> level;
};
void visit_fields(auto& visit, Is<GpuPair> auto& pair) {
  visit("first", pair.first);
  visit("second", pair.second);
  visit("level", pair.level);
}

// The library's report on the whole system.
struct GpuSystem {
  std::string library;  // path or name that was opened
  Reading<std::string> driver_version;
  Reading<std::string> cuda_version;  // NVIDIA: newest CUDA that the driver can run: "12.4"
  std::vector<Gpu> gpus;
  std::vector<GpuPair> pairs;  // empty: not reported
};
void visit_fields(auto& visit, Is<GpuSystem> auto& system) {
  visit.optional("library", system.library);
  visit("driver_version", system.driver_version);
  visit("cuda_version", system.cuda_version);
  visit.optional("cards", system.gpus);
  visit.unless_empty("pairs", system.pairs);
}

}  // namespace ridge::gpu

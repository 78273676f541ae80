// Machine: what this computer is and its physical limits. A plain value: facts read from the system, limits measured on
// it. All other figures are compared with these.
//
// plan/ and tune/ decide from it. Immutable once built.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/units.h"
#include "machine/disturbance.h"

namespace ridge::machine {

struct Cache {
  int level = 0;           // 1, 2, 3 (data or unified)
  int64_t size_bytes = 0;  // of one instance
  int instances = 0;       // on the CPUs this process may use
};
void visit_fields(auto& visit, Is<Cache> auto& cache) {
  visit("level", cache.level, at_least(0));
  visit("size_bytes", cache.size_bytes);
  visit("instances", cache.instances, at_least(0));
}

struct NumaNode {
  int id = 0;
  int64_t memory_bytes = 0;
  int cpus = 0;  // of the allowed ones
};
void visit_fields(auto& visit, Is<NumaNode> auto& node) {
  visit("id", node.id, at_least(0));
  visit("memory_bytes", node.memory_bytes);
  visit("processors", node.cpus, at_least(0));
}

struct Cpu {
  std::string model;  // "AMD EPYC 9B45", as the system names it
  std::string vendor;
  int physical_cores = 0;  // of the whole machine
  int logical_cpus = 0;
  int allowed_cpus = 0;         // by affinity and cpuset
  int allowed_cores = 0;        // distinct physical cores among the allowed CPUs
  std::vector<int> cpus;        // numbers of the allowed CPUs, ascending
  std::vector<int> core_cpus;   // the first allowed CPU of each allowed core: where to pin one thread per core
  std::optional<double> quota;  // [CPUs] by cgroup v1/v2; absent = no limit
  // of: sse4.2 avx avx2 fma f16c avx512f … avx512_vnni avx512_bf16 avx512_fp16 avx_vnni amx_bf16 amx_int8 …
  std::vector<std::string> isa;
  std::vector<Cache> caches;
  std::vector<NumaNode> numa;
};
void visit_fields(auto& visit, Is<Cpu> auto& cpu) {
  visit("model", cpu.model);
  visit("vendor", cpu.vendor);
  visit("physical_cores", cpu.physical_cores, at_least(0));
  visit("logical_processors", cpu.logical_cpus, at_least(0));
  visit("allowed_processors", cpu.allowed_cpus, at_least(0));
  visit("allowed_cores", cpu.allowed_cores, at_least(0));
  visit("processors", cpu.cpus);
  visit("core_processors", cpu.core_cpus);
  visit("quota", cpu.quota);
  visit("isa", cpu.isa);
  visit("caches", cpu.caches);
  visit("numa", cpu.numa);
}

struct Memory {
  int64_t total_bytes = 0;
  int64_t available_bytes = 0;         // when probed
  std::optional<int64_t> limit_bytes;  // by cgroup
};
void visit_fields(auto& visit, Is<Memory> auto& memory) {
  visit("total_bytes", memory.total_bytes);
  visit("available_bytes", memory.available_bytes);
  visit("limit_bytes", memory.limit_bytes);
}

// Highest arithmetic rate seen, by register-blocked kernels.
struct Peak {
  Precision precision = Precision::kFp32;
  int threads = 1;
  double flops_per_s = 0;  // 1 multiply-add = 2 FLOPs, also for integers
  std::string kernel;      // "avx512f fma", "avx512_bf16 dpbf16ps", "amx_bf16 tdpbf16ps", …
  Origin origin = Origin::kMeasured;
  double spread_percent = 0;  // half the interquartile range of all bursts over their median: how quiet the machine was
  double clock_hz = 0;        // observed during the run; 0 = could not be observed
};
void visit_fields(auto& visit, Is<Peak> auto& peak) {
  visit("precision", peak.precision, means("of the operands").column("precision"));
  visit("threads", peak.threads, means("that ran at once").column("threads").within(at_least(0)));
  visit("flops_per_s", peak.flops_per_s, means("the best burst").column("peak").in("FLOP/s").within(above(0)));
  visit("clock_hz", peak.clock_hz, means("during the run; 0: not seen").column("clock").in("Hz").leaves(3));
  visit("origin", peak.origin, means("where the figure comes from").column("origin").leaves(2));
  visit("spread_percent", peak.spread_percent,
        means("of all bursts, half the interquartile range").column("spread").leaves(6));
  visit("kernel", peak.kernel, means("the fastest").column("kernel").leaves(1));
}

// Highest read rate seen over a working set that fits the level. Bytes = those that the program loads (and, for the
// triad, stores), each once. Reads and writes have separate paths, so mixed traffic may be faster than reading alone,
// but no mix reads more bytes per second.
struct Bandwidth {
  std::string level;  // "L1", "L2", "L3", "DRAM"
  int threads = 1;
  double bytes_per_s = 0;        // by the best kernel, in huge pages where there are any: the limit
  double plain_bytes_per_s = 0;  // by a loop of four loads over ordinary pages, median: what simple code gets
  double triad_bytes_per_s = 0;  // of a = b · s + c over ordinary pages, median: two loads and a store
  std::string kernel;            // of bytes_per_s: "avx512 load"
  Origin origin = Origin::kMeasured;
  double spread_percent = 0;  // of bytes_per_s, as of Peak
  int64_t working_set_bytes = 0;
};
void visit_fields(auto& visit, Is<Bandwidth> auto& bandwidth) {
  visit("level", bandwidth.level, means("of memory").column("level"));
  visit("threads", bandwidth.threads, means("that read at once").column("threads").within(at_least(0)));
  visit("bytes_per_s", bandwidth.bytes_per_s,
        means("read, by the best kernel in huge pages: the limit").column("read").in("B/s").within(above(0)));
  visit("plain_bytes_per_s", bandwidth.plain_bytes_per_s,
        means("read by a simple loop in ordinary pages").column("plain read").in("B/s").leaves(4));
  visit("triad_bytes_per_s", bandwidth.triad_bytes_per_s,
        means("of a = b · s + c in ordinary pages: two loads and a store").column("triad").in("B/s").leaves(3));
  visit("working_set_bytes", bandwidth.working_set_bytes, means("").column("working set").leaves(5));
  visit("origin", bandwidth.origin, means("where the figure comes from").column("origin").leaves(2));
  visit("spread_percent", bandwidth.spread_percent, means("of the rate that is the limit").column("spread").leaves(6));
  visit("kernel", bandwidth.kernel, means("of the rate that is the limit").column("kernel").leaves(1));
}

struct Machine {
  std::string id;  // stable name of this configuration: CPU, cores, quota, kernel and program version; key of caches
  Cpu cpu;
  Memory memory;
  std::string system;                           // "Linux 6.1.0 (Debian GNU/Linux 12)"
  std::string measured_at;                      // UTC, "2026-11-21T13:05:00Z"; empty until measured
  std::vector<Peak> peaks;                      // empty until measured
  std::vector<Bandwidth> bandwidths;            // likewise; "DRAM" is always there once measured
  std::optional<Disturbance> disturbance = {};  // while they were measured; absent in older files
};
void visit_fields(auto& visit, Is<Machine> auto& machine) {
  visit("id", machine.id);
  visit("system", machine.system);
  visit("cpu", machine.cpu);
  visit("memory", machine.memory);
  visit("measured_at", machine.measured_at);
  visit("peaks", machine.peaks);
  visit("bandwidths", machine.bandwidths);
  visit.unless_empty("disturbance", machine.disturbance);
}

// Threads that a computation can keep busy: allowed cores, capped by the quota (rounded up).
int usable_threads(const Machine& machine);
// The part of the work of `busy` threads on whole CPUs, on which limits are measured, that a quota leaves: 1 without a
// quota or with a whole one; with a quota of 1.5 three quarters of what two threads do, with 0.5 half of one's.
double quota_factor(const Machine& machine, int busy);

// The peak at `precision` for `threads` threads: the measured entry with that thread count, else derived (origin
// kDerived) as an upper bound: `threads` times the entry for 1 thread, at most the entry for all. A straight line
// between entries would lie below what is attainable, since rates saturate. Absent if the machine has no such units or
// nothing was measured.
std::optional<Peak> peak(const Machine& machine, Precision precision, int threads);
std::optional<Bandwidth> bandwidth(const Machine& machine, const std::string& level, int threads);

// The ridge point [FLOP/byte]: intensity at which `threads` threads turn from DRAM-bound to compute-bound.
std::optional<double> ridge_point(const Machine& machine, Precision precision, int threads);

// Total capacity [bytes] of the caches of `level` that `threads` threads can use (each thread on a core of its own).
int64_t cache_capacity(const Machine& machine, int level, int threads);

// Measured limits with a spread above kMostSpreadPercent: they may be far too low. "DRAM, 2 threads, 45.3 GB/s ± 137.0
// %", the widest first.
constexpr double kMostSpreadPercent = 20;
std::vector<std::string> uncertain_limits(const Machine& machine);

Json to_json(const Machine& machine);

}  // namespace ridge::machine

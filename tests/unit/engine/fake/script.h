// The script of the fake engine, from a ".fake.json" file and from Plan::options, which override it. A plain value.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "engine/engine.h"

namespace ridge::engine::fake {

inline constexpr std::string_view kScriptSuffix = ".fake.json";

struct Script {
  Signature signature;  // x FP32 [-1,16] → y FP32 [-1,16] unless given
  double load_ms = 0;
  std::string fail_load;          // message; empty = loading succeeds
  std::set<std::string> devices;  // its devices, as plans name them; any other cannot be opened
  double latency_ms = 0;          // of a run, on one thread
  double latency_ms_per_row = 0;  // added per row of the first input's first dimension
  double serial_share = 1;        // of the latency that more threads do not shorten (Amdahl)
  double jitter_ms = 0;           // added: uniform in [0, jitter_ms], from `seed` and the run's number
  uint64_t seed = 1;
  bool spin = false;             // wait by computing, not by sleeping
  int parallel = 0;              // runs that make progress at the same time; 0 = all
  int cpus = 0;                  // that all runs of this process with this member share; 0 = each has its own
  double interference = 0;       // slowdown of a run, as a share, by each other such run in progress
  std::set<int64_t> fail_runs;   // numbers of the runs that fail, from 1
  std::set<int64_t> stall_runs;  // runs that take stall_ms longer
  double stall_ms = 0;
  bool echo = true;  // outputs repeat the input of the same index; else they hold `value`
  double value = 0;
};

Result<Script> read_script(const plan::Plan& plan);

// [ms] The script's latency of run number `run` (from 1) with `rows` rows on `threads` threads.
double latency_ms(const Script& script, int64_t run, int64_t rows, int threads);

}  // namespace ridge::engine::fake

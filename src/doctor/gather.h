// Reads and measures what the areas need, on the running system. Work that may hang runs in a child with a time limit;
// a missing fact is a reason in the facts, never an error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "doctor/facts.h"

namespace ridge::doctor {

struct GatherOptions {
  std::vector<std::string> areas;               // empty: all
  Nanoseconds limit = std::chrono::seconds(5);  // of each probe
  // Limit for each trial of an engine: CUDA's libraries are gigabytes, and a first start takes 5 to 15 s.
  Nanoseconds engine_limit = std::chrono::seconds(60);
  bool measure = true;                 // memory bandwidth and peaks, if they are not stored yet
  bool fresh = false;                  // and if they are
  std::string root;                    // prefix of /sys and /proc for GPUs, for tests; usually empty
  std::vector<std::string> outputs;    // what other tools printed
  std::string engine_library;          // of ONNX Runtime; empty: the one that is found
  std::vector<std::string> providers;  // of ONNX Runtime, that must run
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// Call it while the process has one thread (base/child_process.h).
Facts gather(const GatherOptions& options);

// Facts from a recorded machine (tree.h). Without a recorded machine::Machine it is probed from the tree's own files.
Result<Facts> recall(const std::string& path);

}  // namespace ridge::doctor

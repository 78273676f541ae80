// Serving with prompts and decoding on separate workers, simulated event by event. A request goes to a prefill worker,
// whose last chunk computes its first token; its cache goes to a decode worker until its last token. Pure;
// deterministic by seed.
//
// Requests go to the workers in turn, as Dynamo's and TensorRT-LLM's routers do unless told otherwise: a worker can
// have a queue while another has room. A decode worker takes a sequence when it has a place and the cache for the
// longest output; the client sees the first token then, and the others step by step. A worker's attention replicas step
// together: its requests are spread evenly over them, and the fullest one is waited for. Not simulated: preemption,
// caches that grow block by block, transfers that wait for each other.
#pragma once

#include "llm/simulate.h"

namespace ridge::llm {

// Equal workers; limits are of one attention replica.
struct Pool {
  int64_t workers = 1;
  int64_t replicas = 1;           // of attention, in one worker
  int64_t chunk_tokens = 8192;    // prefill: of prompts per step
  int64_t most_sequences = 1024;  // decode: at once
  double cache_tokens = 0;        // that fit; 0: no limit
};

struct DisaggregatedSimulation {
  Simulation all;  // mean_decoding and mean_cached: of one attention replica of a decode worker
  double prefill_busy = 0, decode_busy = 0;  // shares of the time
};

// Simulates all workers. `transfer_s`: for the cache of one token of a prompt, from worker to worker. `costs`: the
// engine's. Errors: a request that never fits into a worker's cache.
Result<DisaggregatedSimulation> simulate_disaggregated(const StepTable& prefill_steps, const Pool& prefill,
                                                       const StepTable& decode_steps, const Pool& decode,
                                                       double transfer_s, EngineKind engine, const EngineCosts& costs,
                                                       const Workload& workload);

}  // namespace ridge::llm

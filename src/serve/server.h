// Server: the Service that runs models of a repository in this process, and its life cycle.
//
// Order of use: create() → (front ends may open their ports: it answers, but is not ready) → load_all() → serve →
// (retire() →) begin_drain() → drain() → destroy. start() is the first two steps in one. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "serve/batch_bounds.h"
#include "serve/host_policy.h"
#include "serve/service.h"
#include "serve/shadow.h"
#include "serve/step_bound.h"

namespace ridge::serve {

// How models come and go, as Triton's --model-control-mode.
enum class ControlMode {
  kNone,      // everything in the repository is loaded at start; load and unload are refused
  kExplicit,  // only `startup_models` are loaded at start; load and unload work
  kPoll,      // as kNone, and the repository is looked at every `poll_period`; load and unload are refused
};

// The answer to every call after the end has begun.
inline Error shutting_down() { return {Code::kUnavailable, "the server is shutting down"}; }

class Recorder;
using OpenFunction = std::function<Result<std::unique_ptr<engine::Session>>(const plan::Plan&)>;
using OpenDecoderFunction = std::function<Result<std::unique_ptr<engine::Decoder>>(const engine::DecoderPlan&)>;

struct ServerOptions {
  std::vector<std::string> repositories;  // folders of models; at least one; a name found twice is an error
  ControlMode control = ControlMode::kNone;
  std::vector<std::string> startup_models;  // kExplicit: names, or one "*" for all
  std::chrono::milliseconds poll_period{15000};
  bool strict_readiness = true;  // ready() requires that every model of the start is READY
  int cores = 0;                 // shared among the instances of a model that sets no threads; 0 = engine's default
  int load_threads = 0;          // models loaded at the same time at start; 0 = up to 4, at most the cores
  std::chrono::seconds warmup_limit{0};    // of one version's warm-up; 0 = none
  std::chrono::milliseconds run_limit{0};  // of a run that serves; 0 = none
  // Time for old versions of a language model to end their answers before a further one is loaded; 0: no limit.
  std::chrono::milliseconds drain_time{0};
  uint64_t response_cache_bytes = 0;      // of all models' cached answers together, with their requests; 0 = no cache
  std::vector<HostPolicy> host_policies;  // one per name
  std::function<uint64_t()> free_memory;  // [bytes] that this process can still take; empty = not known
  BoundFunction bound;                    // of this machine; empty = its limits are not known
  StepBoundFunction step_bound;           // the same of language models
  uint64_t batch_memory = 0;              // [bytes] that the inputs and outputs of one batch may take; 0 = any
  size_t queue_limit = 100'000;           // waiting requests per model version where the configuration sets no limit
  std::string engine_library;             // path of the engine's library; empty = search order of engine/
  std::vector<ShadowRoute> shadows;       // one per model at most
  std::shared_ptr<Recorder> recorder;     // gets every accepted request; may be null
  Clock* clock = &system_clock();         // of delays, timeouts, durations and polling; outlives the server
  OpenFunction open;                 // empty = engine::open; tests inject sessions, whose rows are taken as independent
  OpenDecoderFunction open_decoder;  // the same of engine::open_decoder
  // GPUs that a plan's engine can use; empty = engine::usable_gpus.
  std::function<std::vector<int>(const plan::Plan&)> find_gpus;
};

class Server : public Service {
 public:
  // Checks the options and that the repositories can be read; loads nothing: it refuses requests.
  static Result<std::unique_ptr<Server>> create(ServerOptions options);

  // Loads according to the control mode; returns when all of it is ready or has failed, or soon after begin_drain(). A
  // model that fails or is not found is logged, recorded in index() with its reason and keeps ready() false, which a
  // model that comes later does not; it is not an error of the server.
  virtual void load_all() = 0;

  // Per known model: how many of its loads failed, by name.
  virtual std::vector<std::pair<std::string, uint64_t>> failed_loads() const = 0;

  // The same of versions that were given up, because a run of theirs did not end.
  virtual std::vector<std::pair<std::string, uint64_t>> given_up() const = 0;

  virtual std::vector<ShadowStatistics> shadows() const = 0;

  // Makes ready() false; requests are still accepted.
  virtual void retire() = 0;
  // Makes ready() false, delays no more batches, and refuses new requests, loads and unloads with kUnavailable; loads
  // under way end after the step that they are in: opening a session ends by itself, a run of the warm-up is broken off
  // where the engine can do that. Does not wait.
  virtual void begin_drain() = 0;
  virtual bool draining() const = 0;
  // After begin_drain(): requests that wait are refused with kUnavailable, and runs under way are broken off where the
  // engine can do that. Does not wait.
  virtual void abort() = 0;
  // begin_drain(), then waits until every accepted request was answered and the workers have ended. Whoever called
  // load_all() or load() has to see it return before the server is destroyed.
  virtual void drain() = 0;
};

// create() and load_all().
Result<std::unique_ptr<Server>> start(ServerOptions options);

}  // namespace ridge::serve

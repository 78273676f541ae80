// An opened plan, ready to run repeatedly: its sessions, inputs for them, and memory for the outputs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "measure/load.h"
#include "measure/measurement.h"
#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::measure {

// Outputs are written in place, into memory sized by the first run, unless their type does not allow it.
// run() may be called from several threads at once, by each caller number from one of them.
class Runner {
 public:
  // Opens plan.instances sessions, makes inputs, runs each once. `graph`: make_inputs(), `seconds`: open_for().
  static Result<Runner> open(const plan::Plan& plan, const model::Graph* graph, int callers, uint64_t seed = 1,
                             Clock& clock = system_clock(), double seconds = 0);

  // One run by `caller` (0 … callers − 1), on the session caller mod instances.
  Status run(int caller, engine::RunTimes* times);
  RunOnce target() {
    return [this](int caller, engine::RunTimes* times) { return run(caller, times); };
  }

  engine::Session& session(size_t index) { return *sessions_[index]; }
  std::map<std::string, Shape> shapes() const;  // of the inputs, by name
  int64_t rows() const { return rows_; }        // of one run: first dimension of the first input
  double load_ms() const { return load_ms_; }   // of the first session
  double first_run_ms() const { return first_run_ms_; }
  const std::string& non_finite() const { return non_finite_; }  // of the first run's outputs, in words; "": none

  // By how much this process's resident memory grew while the runner was opened.
  int64_t rss_delta_bytes() const { return rss_delta_bytes_; }

 private:
  // Buffers of one caller.
  struct Slot {
    std::vector<engine::Output> outputs;
    std::vector<Buffer> memory;
    std::vector<bool> in_place;
  };
  Runner() = default;
  Status run_first(int callers, const Clock& clock);

  std::vector<std::unique_ptr<engine::Session>> sessions_;
  std::vector<Tensor> inputs_;
  std::vector<TensorView> views_;
  std::vector<int> wanted_;
  std::vector<Slot> slots_;
  int64_t rows_ = 1;
  double load_ms_ = 0;
  double first_run_ms_ = 0;
  int64_t rss_delta_bytes_ = 0;
  std::string non_finite_;
};

}  // namespace ridge::measure

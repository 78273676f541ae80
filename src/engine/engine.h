// Engines run models. open() turns a Plan into a Session; a Session runs.
//
// Memory: inputs are read in place from the caller's memory. An output is written in place into memory that the caller
// gives (its shape must then be right), otherwise the engine allocates it and the Output owns it. Engines have no such
// form for string tensors (BYTES); they are converted from and to the wire layout of base/tensor.h.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/tensor.h"
#include "plan/plan.h"

namespace ridge::engine {

struct Info {
  std::string name;                // of its row in engines.h
  std::string version;             // as the library reports it
  std::string library;             // path of the loaded library
  std::string device;              // the actual device: "cpu"
  Nanoseconds load_time{};         // of open()
  int threads = 0;                 // that execute one operator, including the caller's, as they really run; 0 = unknown
  std::string executed = {};       // precisions read back: "bf16 in 53 layers, f32 in 1"; empty: not reported
  bool prepares_for_rows = false;  // the first run of each number of rows takes longer, whatever ran before
};

// Inputs and outputs of the model, in its order; -1 = dynamic dimension.
struct Signature {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  // Inputs with a default in the model (ONNX: initialisers that are also graph inputs).
  std::vector<TensorSpec> optional_inputs = {};
};

struct NodeTime {
  std::string name;  // of the node in the optimised graph
  std::string op;
  std::string provider;                            // "CPUExecutionProvider"; OpenVINO: kernel, "brgconv_avx512_bf16"
  double mean_us = 0;                              // per run of the model, without the nodes of its own subgraphs
  double typical_us = 0;                           // of one call: mean of the middle half of its calls
  int runs = 0;                                    // that the mean is over
  int calls = 0;                                   // of the node in those runs: more than `runs` inside a loop
  std::vector<std::pair<DataType, Shape>> inputs;  // as executed; types unknown to us: kInvalid
  std::vector<std::pair<DataType, Shape>> outputs;
  std::vector<std::string> sources = {};  // the model's own nodes that it computes, if reported
  bool multiplies = false;                // it computes sums of products; of fused layers only
};

// One output of one run.
struct Output {
  // Before: caller memory (writable span with the right shape), or empty data to let the engine allocate.
  DataType type = DataType::kInvalid;
  Shape shape;
  std::span<std::byte> data;
  // After: data points at the result; if the engine allocated it, owner keeps it alive.
  std::shared_ptr<const void> owner;
};

// Where one run's time went.
struct RunTimes {
  Nanoseconds input{};    // passing the inputs in
  Nanoseconds compute{};  // inside the engine
  Nanoseconds output{};   // taking the outputs
};

// One loaded model. run() may be called from several threads at once; each call is one execution.
class Session {
 public:
  virtual ~Session() = default;
  virtual const Signature& signature() const = 0;
  virtual const Info& info() const = 0;
  // `inputs` in the order of signature().inputs, and after them, if any is given, signature().optional_inputs; an
  // omitted input has type kInvalid. `outputs` in the order of `wanted`, which indexes signature().outputs. `times`, if
  // given, is filled in when the run succeeds.
  virtual Status run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<Output> outputs,
                     RunTimes* times = nullptr) = 0;
  // Only with Plan::profile: ends profiling and returns the times of all runs but the first `skip_runs`, in order of
  // execution.
  virtual Result<std::vector<NodeTime>> take_profile(int skip_runs) = 0;
  // Breaks off the runs under way, as soon as the engine can, and refuses later ones: both end with an error.
  // Thread-safe. Engines that cannot be interrupted finish their runs (a GPU's, the fake engine).
  virtual void terminate() {}
  // After terminate(), when the runs that it broke off have ended: runs are taken again.
  virtual void resume() {}
  // Keeps files that it reads later alive as long as the session.
  void keep(std::shared_ptr<const void> files) { kept_ = std::move(files); }

 private:
  std::shared_ptr<const void> kept_;
};

// Opens Plan::model with Plan::engine. The error says which libraries were tried and why each failed. Runs of the fake
// engine sleep on `clock`; those of other engines take real time.
Result<std::unique_ptr<Session>> open(const plan::Plan& plan, Clock& clock = system_clock());
// Name, version and path of the engine that open() would use, without a model.
Result<Info> find_engine(const plan::Plan& plan);

}  // namespace ridge::engine

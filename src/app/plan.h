// A model's cost and the least time that a device needs for it, before anything runs; and the answers to further
// questions: measured time, load, cost, memory, training. Prints nothing; plan() is the main path.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/plan_request.h"
#include "app/run_control.h"
#include "base/json.h"
#include "base/result.h"
#include "checkpoint/config.h"
#include "llm/cpu/serving_here.h"
#include "llm/forecast.h"
#include "machine/machine.h"
#include "predict/device_estimate.h"
#include "predict/engine_process.h"
#include "predict/forecast.h"
#include "predict/memory.h"
#include "sizing/economics.h"
#include "sizing/training_plan.h"

namespace ridge::app {

// Steps that take seconds to minutes.
enum class PlanPhase { kMachine, kMeasurement };

struct PlanControl {
  // The control of a phase lives as long as the phase.
  std::function<RunControl(PlanPhase)> begin = [](PlanPhase) { return RunControl{}; };
  std::string program = "/proc/self/exe";  // takes predict::kEngineVerb
};

// The planned device: this machine's CPU, or a GPU: one of the catalogue, or in this machine.
struct PlanDevice {
  std::optional<machine::Machine> machine;
  std::optional<catalogue::CatalogueDevice> gpu;
  std::optional<limits::NvidiaGpu> here;  // the GPU is this one
  double memory_bytes = 0;                // available to a model; 0: not known
};

// Report of a process that ran the model, or the limit that stopped it.
struct MeasuredRun {
  std::optional<predict::EngineReport> report;
  double stopped_at = 0;  // [bytes]; 0: not stopped
};

struct LoadPlan {
  sizing::Load goal;
  sizing::Capacity capacity;
  std::string instances_reason;  // reason for the number per machine
};
void visit_fields(auto& visit, Is<LoadPlan> auto& plan) {
  visit_fields(visit, plan.capacity);
  visit("goal", plan.goal);
}

struct CostPlan {
  sizing::Economics economics;
  sizing::Service service;               // the priced way to run: the one with the most rows per second
  std::string unit;                      // name of a row
  std::optional<int64_t> machines = {};  // of the load that is carried; absent: no load was given
  std::optional<double> renting_usd_per_hour() const {
    return machines && economics.renting_usd_per_hour
               ? std::optional(static_cast<double>(*machines) * *economics.renting_usd_per_hour)
               : std::nullopt;
  }
};
void visit_fields(auto& visit, Is<CostPlan> auto& plan) {
  visit_fields(visit, plan.economics);
  visit("row", plan.unit, means("the unit: `row`, or `token` for a language model"));
  visit_fields(visit, plan.service);
  visit("machines", plan.machines, means("of the load; null: none is given or met"));
  visit.derived("machines_usd_per_hour", Derived{plan.renting_usd_per_hour(), means("rent of all").in("$")});
}

// The memory of the process.
void visit_fields(auto& visit, const MeasuredRun& measured) {
  visit.when(!measured.report, [&](auto& part) {
    part("stopped_at", measured.stopped_at, means("the limit that the process reached").in("B"));
  });
  const predict::EngineReport report = measured.report.value_or(predict::EngineReport());
  visit.when(measured.report.has_value(), [&](auto& part) {
    part("engine", report.engine_name());
    part("program", report.start.resident, means("resident before an engine was loaded").in("B"));
    part("loading_peak", report.loaded.peak, Figure().in("B"));
    part("loaded", report.loaded.resident, means("resident then").in("B"));
    part("resident", report.steady.resident, means("after the runs").in("B"));
    part("peak", report.steady.peak, Figure().in("B"));
    part("runs", report.runs);
  });
}

// [bytes]
struct MemoryPlan {
  double limit = 0;
  std::string limit_origin;
  std::optional<predict::InferenceMemory> process;  // on this machine, by parts
  double weights = 0, activations = 0;              // on a GPU, beside predict::kAssumedContextBytes
  double peak = 0;                                  // estimated
  std::optional<MeasuredRun> measured;
  double needed = 0;                 // as measured, else as estimated
  std::optional<int64_t> max_batch;  // absent: the file fixes it
  int64_t instances = 0;
  bool fits() const { return limit <= 0 || needed <= limit; }
};
void visit_fields(auto& visit, const MemoryPlan& plan) {
  const predict::InferenceMemory process = plan.process.value_or(predict::InferenceMemory());
  visit.when(plan.process.has_value(), [&](auto& part) { visit_fields(part, process); });
  visit.when(!plan.process, [&](auto& part) {
    part("weights", plan.weights);
    part("activations", plan.activations);
    part("context", predict::kAssumedContextBytes, means("of a GPU: for the driver, assumed"));
    part("peak", plan.peak);
  });
  visit.unless_empty("measured", plan.measured, means("with `--measure`"));
  visit("limit", plan.limit, means("`--memory-limit`, else the control group or the machine"));
  visit("limit_origin", plan.limit_origin);
  visit("instances", plan.instances, means("sessions of one process that fit"));
  visit("fits", plan.fits(), means("by the measured peak if there is one"));
}

struct ModelPlan {
  predict::Forecast forecast;  // at the first batch
  PlanDevice device;
  std::vector<std::string> reasons;                // of the bounded plan
  std::string no_engine_graph;                     // why the engine's graph is missing
  std::optional<predict::DeviceEstimate> carried;  // of a GPU with a rate for the precision
  std::vector<predict::CurvePoint> curve;          // empty unless a range of batches was requested
  std::optional<MeasuredRun> measured;             // stopped only where a memory limit was given
  std::optional<LoadPlan> load;
  std::optional<CostPlan> cost;
  std::optional<MemoryPlan> memory;
  std::optional<sizing::TrainingPlan> training;
};

void visit_fields(auto& visit, const ModelPlan& plan) {
  visit_fields(visit, plan.forecast);
  visit.unless_empty("reasons", plan.reasons, means("why this engine, these threads"));
  visit.unless_empty("curve", plan.curve, means("with a range of batches"));
  const predict::DeviceEstimate carried = plan.carried.value_or(predict::DeviceEstimate());
  visit.when(plan.carried.has_value(), [&](auto& part) { visit_fields(part, carried); });
  visit.unless_empty("measured", plan.measured ? plan.measured->report : std::nullopt,
                     means("with `--measure`: the run, and the memory of the process at its start, with the model "
                           "loaded and afterwards"));
  visit.unless_empty("load", plan.load, means("with `--rps`"));
  visit.unless_empty("cost", plan.cost, means("with `--cost`"));
  visit.unless_empty("memory", plan.memory, means("with `--memory`"));
  visit.object("memory_bytes", [&](auto& bytes) {
    bytes.unless_empty("inference_peak", plan.memory ? std::optional(plan.memory->peak) : std::nullopt);
    bytes.unless_empty("training", plan.training ? std::optional(plan.training->point.memory.total()) : std::nullopt);
  });
  visit.when(plan.memory.has_value(), [&](auto& part) {
    part("max_batch", plan.memory ? plan.memory->max_batch : std::nullopt,
         means("whose peak is within the limit, extrapolated linearly from two batches; null: the file fixes it"));
  });
  visit.unless_empty("training", plan.training, means("with `--training`"));
}

// A model as its file has it, and as a request binds it.
struct BoundModel {
  model::UnboundModel unbound;
  model::Graph graph;
};
// Errors are of the request: shapes that the model has not, or dimensions without a size.
Result<BoundModel> bind(const PlanRequest& request, model::UnboundModel unbound);
Result<ModelPlan> plan(const PlanRequest& request, const BoundModel& model, const PlanControl& control);
// True if the answer is no: the load cannot be carried, or the memory does not suffice.
bool is_no(const ModelPlan& plan);
// Reads a kept document's forecast, curve, estimate and measurement; answers to further questions are skipped.
Result<ModelPlan> plan_of(const Json& document);

// A language model from its dimensions, and the storage of weights and cache if it is a file of weights.
struct LlmSource {
  llm::Model model;
  llm::Parameters parameters;
  std::optional<llm::Storage> stored = {};
  std::optional<double> kv_bits = {};
  std::optional<Precision> precision = {};  // a config's own
  std::optional<checkpoint::Config> config = {};
};
Result<LlmSource> read_llm(const PlanRequest& request);
// Errors are of the request.
Result<llm::ForecastSetup> llm_setup(const PlanRequest& request, const LlmSource& source);

struct LlmPlan {
  llm::Forecast forecast;
  std::vector<llm::FormForecast> by_weights = {};
  std::optional<CostPlan> cost = {};               // of decoding with as many sequences as fit, one token each per step
  std::optional<llm::cpu::ServingHere> here = {};  // none on another device, and where the model is not served on CPUs
};
void visit_fields(auto& visit, Is<LlmPlan> auto& plan) {
  visit_fields(visit, plan.forecast);
  visit("by_weights", plan.by_weights, means("with the weights in other forms"));
  visit.when(plan.cost.has_value(), [&](auto& part) { part.derived("cost", plan.cost); });
  visit.unless_empty("serving_here", plan.here,
                     means("by `ridge serve` on this machine's CPU, where it serves such models"));
}
Result<LlmPlan> plan_llm(const PlanRequest& request, const LlmSource& source, llm::ForecastSetup setup,
                         const PlanControl& control);

// A GPU of this machine, and where its limits come from.
struct GpuLimits {
  std::string name;
  std::vector<cost::DeviceLimits::Source> limits;
};
void visit_fields(auto& visit, Is<GpuLimits> auto& gpu) {
  visit("name", gpu.name);
  visit("limits", gpu.limits);
}
struct GpuWithoutWay {
  std::string gpu, reason;
};
void visit_fields(auto& visit, Is<GpuWithoutWay> auto& missing) {
  visit("gpu", missing.gpu);
  visit("reason", missing.reason);
}
// With its kernels, and how to start it.
struct BestWay {
  llm::Serving way;
  std::string advice, launch, engine_version, image;
  std::vector<std::string> launch_notes;
};
void visit_fields(auto& visit, Is<BestWay> auto& best) {
  visit_fields(visit, best.way);
  visit("decode_step", best.way.decode_step, means("kernels of the mean batch"));
  visit("prompt_step", best.way.prompt_step, means("kernels of one prompt alone"));
  visit("advice", best.advice);
  visit("launch", best.launch,
        means("for a shell; with prefill workers a command for each kind of worker, each after a comment, and the "
              "router in a comment"));
  visit("launch_notes", best.launch_notes, means("what the model's files must be"));
  visit("engine_version", best.engine_version);
  visit("image", best.image);
}
// A language model served on GPUs.
struct ServingPlan {
  std::string model;
  llm::Parameters parameters;
  double weight_bytes = 0, kv_bytes_per_token = 0;
  llm::Workload workload;
  std::vector<std::string> notes;
  std::vector<GpuLimits> here = {};
  bool met = false;
  std::vector<GpuWithoutWay> missing = {};
  std::optional<BestWay> best = {};  // absent: no way fits, and the rest is empty
  std::vector<llm::Serving> by_gpu = {}, by_concurrency = {}, ways = {}, front = {};
  size_t searched = 0;
  std::string manifest = {};
};
void visit_fields(auto& visit, Is<ServingPlan> auto& plan) {
  visit("model", plan.model);
  visit("params", plan.parameters.total, means("of the model"));
  visit("active_params", plan.parameters.active, means("used per token"));
  visit("weight_bytes", plan.weight_bytes, means("as published"));
  visit("kv_bytes_per_token", plan.kv_bytes_per_token);
  visit.object("workload", [&](auto& part) {
    const llm::Workload& w = plan.workload;
    part.derived("prompt", Derived{std::vector{w.prompt_min, w.prompt_max}, means("tokens: shortest, longest")});
    part.derived("output", Derived{std::vector{w.output_min, w.output_max}, means("likewise")});
    part("concurrency", w.concurrency);
    part("requests_per_s", w.requests_per_s);
    part.derived("trace_requests", w.trace.size());
    part("tokens_per_step", w.tokens_per_step, means("that a sequence gains: above 1 with drafts"));
  });
  visit("notes", plan.notes);
  visit.unless_empty("here", plan.here, means("of each GPU of this machine: where its limits come from"));
  visit("met", plan.met, means("a way meets the goals"));
  visit("missing", plan.missing, means("GPUs without a way"));
  visit.when(!plan.best, [&](auto& part) {
    part("reason", plan.missing.empty() ? "" : plan.missing.front().reason, means("nothing serves it"));
  });
  const BestWay best = plan.best.value_or(BestWay());
  visit.when(plan.best.has_value(), [&](auto& part) {
    part("serving", best, means("the best way"));
    part("by_gpu", plan.by_gpu, means("the best way of each GPU"));
    part("by_concurrency", plan.by_concurrency,
         means("without a load: the best way at each number of requests at once"));
    part.unless_empty("manifest", plan.manifest, means("with `--manifest`: text of the file"));
    part("searched", plan.searched, means("ways"));
    part("front", plan.front,
         means("those that meet the goals, cost no hundredfold, and that no other beats in both rates"));
    part("ways", plan.ways, means("the 20 best"));
  });
}
// The best way found, others, and its kernels. Errors are of the request.
Result<ServingPlan> plan_serving(const PlanRequest& request, const LlmSource& source);

}  // namespace ridge::app

// What a model costs and the least time a device needs for it, before anything runs; and the answers to further questions: time
// estimated, load, cost, memory, training. Prints nothing; plan() is the main path.
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
#include "machine/machine.h"
#include "predict/device_estimate.h"
#include "predict/efficiency.h"
#include "predict/engine_process.h"
#include "predict/estimate.h"
#include "predict/forecast.h"
#include "predict/memory.h"
#include "predict/verify.h"
#include "sizing/economics.h"
#include "sizing/llm.h"
#include "sizing/training_plan.h"

namespace ridge::app {

// What takes seconds to minutes.
enum class PlanPhase { kMachine, kCalibration, kVerification };

struct PlanControl {
  // The control of a phase lives as long as the phase.
  std::function<RunControl(PlanPhase)> begin = [](PlanPhase) { return RunControl{}; };
  // After --calibrate: kept in the file `path`; "": this machine was calibrated before.
  std::function<void(const predict::Efficiency&, const std::string& path)> calibrated = [](const auto&, const auto&) {};
  // The engine takes longer than a second to say what it runs; what can be said without it, the estimate being rough.
  std::function<void(double bound_ms, std::optional<double> estimate_ms)> waiting = [](double, auto) {};
  Clock* clock = &system_clock();
  std::string program = "/proc/self/exe";  // what takes predict::kEngineVerb
};

// The device that is planned for: this machine's CPU, or a GPU: one of the catalogue, or in this machine.
struct PlanDevice {
  std::optional<machine::Machine> machine;
  std::optional<catalogue::CatalogueDevice> gpu;
  std::optional<limits::NvidiaGpu> here;  // the GPU is this one
  double memory_bytes = 0;                // what a model may take; 0: not known
};

struct StoredVerification {
  predict::Verification verification;
  std::string file;  // the ledger that keeps it
};

struct LoadPlan {
  sizing::Load goal;
  sizing::Capacity capacity;
  std::string instances_reason;  // why so many per machine
};
void visit_fields(auto& visit, Is<LoadPlan> auto& plan) {
  visit_fields(visit, plan.capacity);
  visit("goal", plan.goal);
}

struct CostPlan {
  sizing::Economics economics;
  sizing::Service service;  // what was priced: of several ways to run the one with the most rows per second
  std::string unit;         // what a row is called
};
void visit_fields(auto& visit, Is<CostPlan> auto& plan) {
  visit_fields(visit, plan.economics);
  visit("row", plan.unit);
  visit_fields(visit, plan.service);
}

// What a process needed that ran the model, or where it was stopped.
struct MeasuredMemory {
  std::optional<predict::EngineReport> report;
  double stopped_at = 0;  // [bytes]; 0: it was not stopped
};
void visit_fields(auto& visit, Is<MeasuredMemory> auto& measured) {
  if (!measured.report) return visit("stopped_at", measured.stopped_at);
  visit.derived("engine", measured.report->engine + " " + measured.report->version);
  visit("program", measured.report->start.resident);
  visit("loading_peak", measured.report->loaded.peak);
  visit("loaded", measured.report->loaded.resident);
  visit("resident", measured.report->steady.resident);
  visit("peak", measured.report->steady.peak);
  visit("runs", measured.report->runs);
}

// [bytes]
struct MemoryPlan {
  double limit = 0;
  std::string limit_origin;
  std::optional<predict::InferenceMemory> process;  // on this machine, by parts
  double weights = 0, activations = 0;              // on a GPU, beside predict::kAssumedContextBytes
  double peak = 0;                                  // estimated
  std::optional<MeasuredMemory> measured;
  double needed = 0;                 // as measured, else as estimated
  std::optional<int64_t> max_batch;  // absent: the file fixes it
  int64_t instances = 0;
  bool fits() const { return limit <= 0 || needed <= limit; }
};
void visit_fields(auto& visit, Is<MemoryPlan> auto& plan) {
  if (plan.process) {
    visit_fields(visit, *plan.process);
  } else {
    visit("weights", plan.weights);
    visit("activations", plan.activations);
    visit.derived("context", predict::kAssumedContextBytes);
    visit("peak", plan.peak);
  }
  visit.unless_empty("measured", plan.measured);
  visit("limit", plan.limit);
  visit("limit_origin", plan.limit_origin);
  visit("instances", plan.instances);
  visit.derived("fits", plan.fits());
}

struct ModelPlan {
  predict::Forecast forecast;  // at the first batch
  PlanDevice device;
  std::vector<std::string> reasons;                // of the plan that is bounded
  std::optional<predict::Efficiency> efficiency;   // of this machine, if it was calibrated
  std::string no_engine_graph;                     // why the engine did not say what it runs
  std::optional<predict::Estimate> estimate;       // where the machine is calibrated
  std::optional<predict::DeviceEstimate> carried;  // of a GPU with a rate for the precision
  std::vector<predict::CurvePoint> curve;          // empty unless a range of batches was asked for
  std::optional<StoredVerification> verified;
  std::optional<LoadPlan> load;
  std::optional<CostPlan> cost;
  std::optional<MemoryPlan> memory;
  std::optional<sizing::TrainingPlan> training;
};

// A model as its file has it, and as a request binds it.
struct BoundModel {
  model::UnboundModel unbound;
  model::Graph graph;
};
Result<BoundModel> read_model(const PlanRequest& request);
// `model`: without open symbols (check_open_dimensions()).
Result<ModelPlan> plan(const PlanRequest& request, const BoundModel& model, const PlanControl& control);
// Whether the answer is no: the load cannot be carried, or the memory does not suffice.
bool is_no(const ModelPlan& plan);
Json to_json(const ModelPlan& plan);
// What was predicted and measured on the calibrated machine so far.
Json ledger_json(const predict::Efficiency& efficiency);

// Calibrates this machine, unless it is and `request` does not want it fresh.
Status calibrate(const PlanRequest& request, const PlanControl& control);

// A language model by its dimensions, and how its file stores weights and cache where it is a file of weights.
struct LlmSource {
  sizing::LlmModel model;
  std::optional<sizing::WeightFormat> stored;
  std::optional<double> kv_bits;
};
Result<LlmSource> read_llm(const PlanRequest& request);
// Errors are of the request.
Result<sizing::LlmSetup> llm_wishes(const PlanRequest& request, const LlmSource& source);

struct LlmPlan {
  sizing::LlmForecast forecast;
  std::vector<sizing::LlmForecast> by_weights;  // the same in every form of weights
  std::optional<CostPlan> cost;                 // of decoding with as many sequences as fit, one token each per step
};
Result<LlmPlan> plan_llm(const PlanRequest& request, const LlmSource& source, sizing::LlmSetup wishes,
                         const PlanControl& control);
Json to_json(const LlmPlan& plan);

}  // namespace ridge::app

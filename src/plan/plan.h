// Plan: every decision about how a model will be run, made before it is opened. Input of engine::open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/tensor.h"
#include "base/units.h"

namespace ridge::plan {

enum class GraphLevel { kOff, kBasic, kExtended, kAll };
NameTable<GraphLevel> names_of(GraphLevel);
enum class Spin { kDefault, kOn, kOff };  // whether engine threads busy-wait for work
NameTable<Spin> names_of(Spin);

// The default engine; the first row of engine/engines.h.
inline constexpr const char* kUsualEngine = "onnxruntime";

struct Plan {
  std::string model;                  // path of the file
  std::string engine = kUsualEngine;  // Engine::name of engine/engines.h
  std::string engine_library;         // path of the engine's library; empty = search order of engine/
  std::string device = "cpu";
  Precision precision = Precision::kFp32;
  int64_t batch = 1;
  std::map<std::string, Shape> shapes;  // input name → shape used for measuring; every dimension ≥ 0
  int instances = 1;                    // sessions that run at the same time
  int threads = 0;                      // per instance, inside one operator; 0 = the engine's own default
  int inter_op_threads = 1;             // > 1: the engine may run independent operators at the same time
  Spin spin = Spin::kDefault;
  bool memory_arena = true;
  bool memory_pattern = true;
  GraphLevel graph_level = GraphLevel::kAll;
  bool profile = false;         // collect per-node times (slower)
  std::string optimised_model;  // if set, the engine writes its optimised graph here
  // Passed to the engine as they are (ONNX Runtime: session config entries).
  std::map<std::string, std::string> options;

  double bound_ms = 0;               // by the roofline, for one run at `batch`; 0 = not computed
  std::vector<std::string> reasons;  // one sentence per decision that was not a default
};
// Absent members keep their defaults, so that a plan can be written by hand.
void visit_fields(auto& visit, Is<Plan> auto& plan) {
  visit("model", plan.model);
  visit.optional("engine", plan.engine);
  visit.optional("engine_library", plan.engine_library);
  visit.optional("device", plan.device);
  visit.optional("precision", plan.precision);
  visit.optional("batch", plan.batch, at_least(1));
  visit.optional("shapes", plan.shapes, at_least(0));
  visit.optional("instances", plan.instances, at_least(1));
  visit.optional("threads", plan.threads, at_least(0));
  visit.optional("inter_op_threads", plan.inter_op_threads, at_least(1));
  visit.optional("spin", plan.spin);
  visit.optional("memory_arena", plan.memory_arena);
  visit.optional("memory_pattern", plan.memory_pattern);
  visit.optional("graph_level", plan.graph_level);
  visit.optional("profile", plan.profile);
  visit.optional("optimised_model", plan.optimised_model);
  visit.optional("options", plan.options);
  visit.optional("bound_ms", plan.bound_ms);
  visit.optional("reasons", plan.reasons);
}

Json to_json(const Plan& plan);

}  // namespace ridge::plan

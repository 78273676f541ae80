// Plan: every decision about how a model will be run, made before it is opened. Input of engine::open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/tensor.h"
#include "base/units.h"

namespace ridge::plan {

enum class GraphLevel { kOff, kBasic, kExtended, kAll };
enum class Spin { kDefault, kOn, kOff };  // whether engine threads busy-wait for work

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

Json to_json(const Plan& plan);
Result<Plan> plan_from_json(const Json& json);

}  // namespace ridge::plan

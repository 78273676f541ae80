// An engine in its own process: returns its graph of a model, the time of its runs and its memory use, so that this
// process holds neither its weights nor its crashes. The child is this program, with a verb that help does not list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/child_process.h"
#include "base/fields.h"
#include "base/result.h"
#include "measure/measurement.h"
#include "plan/plan.h"

namespace ridge::predict {

// [bytes]
struct ProcessMemory {
  int64_t resident = 0;
  int64_t peak = 0;  // until then
};
void visit_fields(auto& visit, Is<ProcessMemory> auto& memory) {
  visit("resident", memory.resident);
  visit("peak", memory.peak);
}

struct EngineReport {
  std::string engine, version;
  ProcessMemory start;   // of the program alone
  ProcessMemory loaded;  // with the model open
  ProcessMemory steady;  // after the runs
  double load_ms = 0;
  int runs = 0;
  measure::Latency latency_ms;
  std::string engine_name() const { return engine + " " + version; }
};
void visit_fields(auto& visit, Is<EngineReport> auto& report) {
  visit("engine", report.engine);
  visit("version", report.version);
  visit("start", report.start);
  visit("loaded", report.loaded);
  visit("steady", report.steady);
  visit("load_ms", report.load_ms);
  visit("runs", report.runs);
  visit("latency_ms", report.latency_ms);
}
Json to_json(const EngineReport& report);

// Opens `plan` in a child, runs it once, and then in sequence until `time` has passed, five times at least, on inputs
// of Plan::shapes; not at all if `time` is 0. Errors: the engine's own; kTimeout and kExhausted at a limit; kFailed if
// the child crashed. `program`: the executable that takes kEngineVerb.
Result<EngineReport> ask_engine(const plan::Plan& plan, Nanoseconds time, const ChildLimits& limits,
                                const std::string& program = "/proc/self/exe");

// The child's side: `ridge engine-process PLAN MILLISECONDS`, the plan as JSON. Returns the exit status.
constexpr std::string_view kEngineVerb = "engine-process";
int engine_process(std::span<const std::string> arguments);

}  // namespace ridge::predict

// An engine in its own process: returns its graph of a model and its memory use, so that this process holds neither the
// engine's weights nor its crashes. The child is this program again, with a verb that help does not list.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/child_process.h"
#include "base/fields.h"
#include "base/result.h"
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
};
void visit_fields(auto& visit, Is<EngineReport> auto& report) {
  visit("engine", report.engine);
  visit("version", report.version);
  visit("start", report.start);
  visit("loaded", report.loaded);
  visit("steady", report.steady);
  visit("load_ms", report.load_ms);
  visit("runs", report.runs);
}
Json to_json(const EngineReport& report);

// Opens `plan` in a child and runs it `runs` times in sequence, on inputs of Plan::shapes. Errors: the engine's own; kTimeout
// and kExhausted at a limit; kFailed if the child crashed. `program`: the executable that takes kEngineVerb.
Result<EngineReport> ask_engine(const plan::Plan& plan, int runs, const ChildLimits& limits,
                                const std::string& program = "/proc/self/exe");

// The child's side: `ridge engine-process PLAN RUNS`, the plan as JSON. Returns the exit status.
constexpr std::string_view kEngineVerb = "engine-process";
int engine_process(std::span<const std::string> arguments);

}  // namespace ridge::predict

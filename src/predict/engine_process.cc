#include "predict/engine_process.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "engine/engine.h"
#include "measure/inputs.h"
#include "measure/resident.h"
#include "measure/statistics.h"

namespace ridge::predict {
namespace {

constexpr int kFailed = 3;
constexpr int kFewestRuns = 5;

ProcessMemory memory_now() { return {measure::resident_bytes(), measure::peak_resident_bytes()}; }

// Outputs are allocated by the engine and released after each run.
Status run_once(engine::Session& session, const std::vector<TensorView>& inputs) {
  std::vector<int> wanted(session.signature().outputs.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::vector<engine::Output> outputs(wanted.size());
  return session.run(inputs, wanted, outputs);
}

Status run_for(Nanoseconds time, engine::Session& session, const std::vector<TensorView>& inputs,
               EngineReport& report) {
  Clock& clock = system_clock();
  std::vector<double> times_ms;
  RIDGE_TRY(run_once(session, inputs));  // the first one allocates
  const TimePoint begin = clock.now();
  for (TimePoint before = begin; report.runs < kFewestRuns || before < begin + time; ++report.runs) {
    RIDGE_TRY(run_once(session, inputs));
    const TimePoint after = clock.now();
    times_ms.push_back(to_ms(after - before));
    before = after;
  }
  report.latency_ms = measure::latency_of(times_ms);
  return {};
}

Result<EngineReport> report_on(const plan::Plan& plan, Nanoseconds time) {
  EngineReport report;
  report.start = memory_now();
  RIDGE_ASSIGN(const std::unique_ptr<engine::Session> session, engine::open(plan));
  report.engine = session->info().name;
  report.version = session->info().version;
  report.load_ms = to_ms(session->info().load_time);
  report.loaded = memory_now();
  if (time > Nanoseconds{}) {
    RIDGE_ASSIGN(const std::vector<Tensor> inputs, measure::make_inputs(session->signature(), plan.shapes, nullptr));
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) views.push_back(input.view());
    RIDGE_TRY(run_for(time, *session, views, report));
  }
  report.steady = memory_now();
  return report;
}

Result<EngineReport> asked(std::span<const std::string> arguments) {
  if (arguments.size() != 2) return Error{Code::kInvalid, "expected a plan and a number of milliseconds"};
  RIDGE_ASSIGN(const Json json, parse_json(arguments[0], "a plan"));
  RIDGE_ASSIGN(const plan::Plan plan, from_json<plan::Plan>(json));
  int ms = 0;
  const std::string& text = arguments[1];
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (failure != std::errc() || end != text.data() + text.size() || ms < 0)
    return Error{Code::kInvalid, "'" + text + "' is not a number of milliseconds"};
  return report_on(plan, std::chrono::milliseconds(ms));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The engine library's own output precedes the report.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const size_t before = text.rfind('\n', end);
  const size_t first = before == std::string::npos ? 0 : before + 1;
  return text.substr(first, end + 1 - first);
}

}  // namespace

Json to_json(const EngineReport& report) { return json_of(report); }

Result<EngineReport> ask_engine(const plan::Plan& plan, Nanoseconds time, const ChildLimits& limits,
                                const std::string& program) {
  ChildProgram child;
  child.arguments = {program, std::string(kEngineVerb), dump_json(plan::to_json(plan)),
                     std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count())};
  child.take_errors = true;
  RIDGE_ASSIGN(const std::string output, output_of("the engine's process", limits, run_program(child, limits)));
  RIDGE_ASSIGN(const Json json, parse_json(last_line(output), "the report of the engine's process"));
  return from_json<EngineReport>(json);
}

int engine_process(std::span<const std::string> arguments) {
  const Result<EngineReport> report = asked(arguments);
  const std::string line = report ? dump_json(to_json(*report)) : one_line(report.error().message);
  write_all(report ? STDOUT_FILENO : STDERR_FILENO, line + "\n");
  return report ? 0 : kFailed;
}

}  // namespace ridge::predict

#include "cli/power_workload.h"

#include <fmt/format.h>

#include <functional>
#include <memory>

#include "cli/model_options.h"
#include "cli/power_gemm.h"
#include "cost/costs.h"
#include "machine/probe.h"
#include "measure/runner.h"
#include "model/reader.h"
#include "plan/first_plan.h"
#include "power/watch.h"

namespace ridge::cli {
namespace {

// Runs `once` again and again for about `slice`; how often per second.
Result<double> rate_of(Nanoseconds slice, const std::function<Status()>& once) {
  const TimePoint begin = SteadyClock::now();
  int64_t count = 0;
  do {
    RIDGE_TRY(once());
    ++count;
  } while (SteadyClock::now() - begin < slice);
  return static_cast<double>(count) / to_seconds(SteadyClock::now() - begin);
}

Result<power::Workload> model_on(const WorkloadOptions& options, const std::string& device) {
  model::Binding binding;
  binding.batch = options.batch;
  binding.insist_on_batch = options.batch != 1;
  auto graph = std::make_shared<model::Graph>();
  RIDGE_ASSIGN(*graph, model::read(options.model, binding));
  RIDGE_TRY(check_open_dimensions(options.model, *graph));
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  RIDGE_ASSIGN(plan::Device on, plan::device_from_name(device));
  plan::PlanRequest wishes{options.model, input_shapes(*graph), rows_of(*graph), std::nullopt, Precision::kFp32, on};
  plan::Plan plan = plan::first_plan(machine, cost::count(*graph, Precision::kFp32), wishes);
  plan.engine = options.engine;
  plan.engine_library = options.engine_library;
  RIDGE_ASSIGN(measure::Runner opened, measure::Runner::open(plan, graph.get(), 1));
  auto runner = std::make_shared<measure::Runner>(std::move(opened));
  return power::Workload{fmt::format("{}, batch {}, {} on {}", options.model, runner->rows(), options.engine, device),
                         "items", [runner, graph](Nanoseconds slice) -> Result<double> {
                           RIDGE_ASSIGN(double runs, rate_of(slice, [&] {
                                          engine::RunTimes times;
                                          return runner->run(0, &times);
                                        }));
                           return runs * static_cast<double>(runner->rows());
                         }};
}

power::Workload command_workload(const std::vector<std::string>& command) {
  return {fmt::format("{}", fmt::join(command, " ")), "runs",
          [command](Nanoseconds slice) { return rate_of(slice, [&] { return power::run_once(command); }); }};
}

}  // namespace

Result<power::Workload> open_workload(const WorkloadOptions& options, const power::PowerControl& knob) {
  const int asked = (options.gemm ? 1 : 0) + (options.model.empty() ? 0 : 1) + (options.command.empty() ? 0 : 1);
  if (asked != 1) return invalid("no workload: give one of --gemm, --model FILE, or -- COMMAND");
  if (!options.command.empty()) return command_workload(options.command);
  if (knob.id() == "cpu")
    return options.gemm ? gemm_on_cpu(options.size.value_or(kCpuSquare)) : model_on(options, "cpu");
  if (options.gemm) return gemm_on_gpu(knob.id(), options.size.value_or(kGpuSquare));
  RIDGE_ASSIGN(std::string device, cuda_name_of(knob.id()));
  return model_on(options, device);
}

}  // namespace ridge::cli

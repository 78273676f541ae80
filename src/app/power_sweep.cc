#include "app/power_sweep.h"

#include <fmt/format.h>

#include <memory>

#include "base/child_process.h"
#include "cost/costs.h"
#include "engine/model_file.h"
#include "machine/probe.h"
#include "measure/runner.h"
#include "model/inputs.h"
#include "model/reader.h"
#include "plan/first_plan.h"
#include "power/gemm.h"
#include "power/held_limit.h"
#include "power/packages.h"

namespace ridge::app {
namespace {

Result<power::Workload> model_on(const WorkloadRequest& request, const std::string& device, Clock& clock) {
  model::Binding binding;
  binding.batch = request.batch;
  binding.insist_on_batch = request.batch != 1;
  auto graph = std::make_shared<model::Graph>();
  RIDGE_ASSIGN(const model::UnboundModel model, engine::read_model(request.model, request.engine_library));
  RIDGE_ASSIGN(*graph, model.bind(binding));
  RIDGE_TRY(check_open_dimensions(request.model, *graph));
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  RIDGE_ASSIGN(plan::Device on, plan::device_from_name(device));
  plan::PlanRequest plan_request{request.model, input_shapes(*graph), rows_of(*graph),
                                 std::nullopt,  Precision::kFp32,     on};
  plan::Plan plan = plan::first_plan(machine, cost::count(*graph, Precision::kFp32), plan_request);
  plan.engine = request.engine;
  plan.engine_library = request.engine_library;
  RIDGE_ASSIGN(measure::Runner opened, measure::Runner::open(plan, graph.get(), 1, 1, clock));
  auto runner = std::make_shared<measure::Runner>(std::move(opened));
  const std::string name = fmt::format("{}, batch {}, {} on {}", request.model, runner->rows(), request.engine, device);
  return power::Workload{name, "items", [runner, graph, &clock](Nanoseconds slice) {
                           const auto once = [&] {
                             engine::RunTimes times;
                             return runner->run(0, &times);
                           };
                           return power::rate_of(slice, static_cast<double>(runner->rows()), once, clock);
                         }};
}

power::Workload command_workload(const std::vector<std::string>& command, const std::function<bool()>& interrupted,
                                 Clock& clock) {
  const std::string name = fmt::format("{}", fmt::join(command, " "));
  const ChildLimits limits{.time = std::chrono::hours(1), .interrupted = interrupted};
  const auto once = [command, name, limits]() -> Status {
    const ChildProgram program{.arguments = command, .output_to_errors = true};
    RIDGE_TRY(output_of(name, limits, run_program(program, limits)));
    return {};
  };
  return {name, "runs", [once, &clock](Nanoseconds slice) { return power::rate_of(slice, 1, once, clock); }};
}

}  // namespace

Result<power::Workload> open_workload(const WorkloadRequest& request, const power::PowerControl& power_control,
                                      const std::function<bool()>& interrupted, Clock& clock) {
  const int asked = (request.gemm ? 1 : 0) + (request.model.empty() ? 0 : 1) + (request.command.empty() ? 0 : 1);
  if (asked != 1) return invalid("no workload: give one of --gemm, --model FILE, or -- COMMAND");
  if (!request.command.empty()) return command_workload(request.command, interrupted, clock);
  const bool cpu = power_control.id() == power::kCpuId;
  if (request.gemm && cpu) return power::gemm_on_cpu(request.size.value_or(power::kCpuSquare), clock);
  if (request.gemm) return power::gemm_on_gpu(power_control.id(), request.size.value_or(power::kGpuSquare), clock);
  if (cpu) return model_on(request, "cpu", clock);
  RIDGE_ASSIGN(const std::string device, power::cuda_name_of(power_control.id()));
  return model_on(request, device, clock);
}

// guard → open → hold → sweep → restore
Result<PowerSweepResult> sweep_power(const PowerSweepRequest& request, const std::function<RunControl()>& begin,
                                     Clock& clock) {
  RIDGE_ASSIGN(power::Guard guard, power::Guard::start(power::undo));
  RIDGE_ASSIGN(const std::unique_ptr<power::PowerControl> opened, power::open_power_control(request.device));
  power::PowerControl& power_control = *opened;
  RIDGE_ASSIGN(const power::State state, power_control.state());
  RIDGE_ASSIGN(power::SweepOptions options,
               power::sweep_options(state, power_control.name(), request.from_mw, request.to_mw, request.steps));
  options.most_time = from_seconds(request.seconds);
  std::optional<RunControl> control;
  RIDGE_ASSIGN(const power::Workload workload,
               open_workload(request.workload, power_control, [&] { return control && control->stopped(); }, clock));
  control = begin();
  RIDGE_ASSIGN(power::HeldLimit held, power::HeldLimit::take(power_control, guard));
  options.interrupted = control->interrupted;
  options.progress = control->progress;
  machine::DisturbanceWatch watch;
  Result<power::Sweep> swept = power::sweep(power_control, workload, options, clock);
  if (swept) swept->disturbance = watch.end();
  control.reset();
  Status restored = held.restore();
  if (!swept) return swept.error();
  return PowerSweepResult{std::move(*swept), std::move(restored)};
}

}  // namespace ridge::app

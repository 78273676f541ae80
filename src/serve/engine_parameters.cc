#include "serve/engine_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/log.h"
#include "engine/engines.h"
#include "engine/parameter.h"
#include "model_config.pb.h"
#include "serve/encoder.h"
#include "serve/instance_groups.h"
#include "serve/settings_from_config.h"
#include "serve/traffic.h"

namespace ridge::serve {
namespace {

using engine::Parameter;
using engine::read_flag;
using engine::read_spin;
using engine::read_threads;
using engine::wrong_value;
using plan::GraphLevel;
using plan::Plan;

Status read_graph_level(const std::string& value, GraphLevel& level) {
  constexpr std::array<std::pair<std::string_view, GraphLevel>, 4> kLevels = {{{"off", GraphLevel::kOff},
                                                                               {"basic", GraphLevel::kBasic},
                                                                               {"extended", GraphLevel::kExtended},
                                                                               {"all", GraphLevel::kAll}}};
  for (const auto& [name, known] : kLevels)
    if (value == name) return level = known, ok_status();
  return wrong_value(value, "one of off, basic, extended, all");
}

Status read_precision(const std::string& value, Plan& plan) {
  RIDGE_ASSIGN(plan.precision, precision_from_name(value));
  return {};
}

Status check_on_or_off(const std::string& value, Plan&) {
  return value == "on" || value == "off" ? ok_status() : wrong_value(value, "on or off");
}

Status check_auto(const std::string& value, Plan&) {
  return value == "auto" ? ok_status() : wrong_value(value, "auto");
}

Status check_traffic(const std::string& value, Plan&) {
  RIDGE_TRY(parse_traffic(value));
  return {};
}

Status check_pooling(const std::string& value, Plan&) {
  RIDGE_TRY(pooling_from_name(value));
  return {};
}

// Parameters of every engine.
const std::array kEngineParameters = {
    Parameter{"ridge_threads", [](const std::string& v, Plan& p) { return read_threads(v, p.threads); }},
    Parameter{"ridge_inter_op_threads",
              [](const std::string& v, Plan& p) { return read_threads(v, p.inter_op_threads); }},
    Parameter{"ridge_allow_spinning", [](const std::string& v, Plan& p) { return read_spin(v, p.spin); }},
    Parameter{"ridge_memory_arena", [](const std::string& v, Plan& p) { return read_flag(v, p.memory_arena); }},
    Parameter{"ridge_memory_pattern", [](const std::string& v, Plan& p) { return read_flag(v, p.memory_pattern); }},
    Parameter{"ridge_graph_level", [](const std::string& v, Plan& p) { return read_graph_level(v, p.graph_level); }},
    Parameter{"ridge_precision", read_precision},
    // Parameters of the server, not of the plan (settings_from_config.cc).
    Parameter{"ridge_warmup", check_on_or_off}, Parameter{"ridge_spread", check_on_or_off},
    Parameter{"ridge_row_check", check_on_or_off}, Parameter{"ridge_queue_delay", check_auto},
    Parameter{"ridge_traffic", check_traffic}, Parameter{"ridge_pooling", check_pooling},  // of the encoder (encoder.h)
};

constexpr std::string_view kOption = "ridge_option_";  // with any name: an option of the engine, handed on as it is

// Reads parameters of every engine, of the engine's backend, and of the usual engine, whose names every backend here
// understands; false: another name.
Result<bool> read_known_parameter(const std::string& key, const std::string& value, Plan& plan) {
  if (const Parameter* parameter = engine::find_parameter(kEngineParameters, key)) {
    RIDGE_TRY(parameter->read(value, plan));
    return true;
  }
  for (const engine::Engine* engine : {&engine::named(plan.engine), &engine::known().front()}) {
    if (engine->read_parameter == nullptr) continue;
    RIDGE_ASSIGN(const bool own, engine->read_parameter(key, value, plan));
    if (own) return true;
  }
  return false;
}

Status read_parameter(const std::string& key, const std::string& value, Plan& plan) {
  Result<bool> done = read_known_parameter(key, value, plan);
  if (!done) return wrap(std::move(done).error(), fmt::format("parameter '{}'", key));
  if (*done) return {};
  if (key.starts_with(kOption))
    plan.options[key.substr(kOption.size())] = value;
  else if (key.starts_with("ridge_"))
    log::warning("{}: parameter '{}' is not known to ridge and has no effect", plan.model, key);
  return {};
}

// The accelerators of the GPUs, as far as the engine has any.
Status read_accelerators(const inference::ModelConfig& config, Plan& plan) {
  const engine::Engine& engine = engine::named(plan.engine);
  if (engine.read_accelerators == nullptr) return {};
  std::vector<engine::Accelerator> accelerators;
  for (const auto& one : config.optimization().execution_accelerators().gpu_execution_accelerator())
    accelerators.push_back({one.name(), {one.parameters().begin(), one.parameters().end()}});
  const auto& preferred = config.dynamic_batching().preferred_batch_size();
  engine::ServedShapes shapes{{}, config.max_batch_size(), config.max_batch_size()};
  if (!preferred.empty()) shapes.usual_rows = *std::max_element(preferred.begin(), preferred.end());
  for (const auto& input : config.input())
    shapes.inputs.push_back({input.name(), DataType::kInvalid, {input.dims().begin(), input.dims().end()}});
  return engine.read_accelerators(accelerators, shapes, plan);
}

// Triton's ONNX Runtime backend runs OpenVINO by such an accelerator; here an engine is a backend.
void warn_of_cpu_accelerators(const inference::ModelConfig& config, const Plan& plan) {
  for (const auto& one : config.optimization().execution_accelerators().cpu_execution_accelerator()) {
    std::string instead;
    for (const engine::Engine& engine : engine::known())
      if (engine.name == one.name() && engine.name != plan.engine)
        instead = fmt::format("; for {} set backend: \"{}\" in config.pbtxt", engine.label, engine.backend);
    log::warning("{}: cpu_execution_accelerator '{}' has no effect; the model runs on {}{}", plan.model, one.name(),
                 plan.engine, instead);
  }
}

// Levels of Triton's ONNX Runtime backend: -1 basic, 1 extended, 2 off; 0 = not set = all.
Status read_graph_optimisation(const inference::ModelConfig& config, Plan& plan) {
  if (!config.optimization().has_graph()) return {};
  switch (config.optimization().graph().level()) {
    case -1: plan.graph_level = GraphLevel::kBasic; return {};
    case 0: return {};
    case 1: plan.graph_level = GraphLevel::kExtended; return {};
    case 2: plan.graph_level = GraphLevel::kOff; return {};
    default:
      return wrong_value(std::to_string(config.optimization().graph().level()),
                         "a level of optimization.graph: -1, 0, 1 or 2");
  }
}

int instances_on_cpus(const inference::ModelConfig& config) {
  const std::vector<plan::Device> devices = devices_of(config);
  return static_cast<int>(std::count(devices.begin(), devices.end(), plan::Device{}));
}

}  // namespace

Status check_sent_options(const plan::Plan& plan) {
  const engine::Engine& engine = engine::named(plan.engine);
  for (const auto& [option, value] : plan.options)
    if (engine.is_harmless == nullptr || !engine.is_harmless(option))
      return Error{Code::kInvalid, fmt::format("a load request may not set the engine's option '{}', which may name a "
                                               "file; set it in config.pbtxt of the repository",
                                               option)};
  return {};
}

const engine::Engine& engine_of(const inference::ModelConfig& config) {
  return config.backend().empty() ? engine::known().front() : engine::named(config.backend());
}

Result<plan::Plan> plan_of(const inference::ModelConfig& config, const std::string& model_file, int cores,
                           const std::string& engine_library, const plan::Device& device,
                           std::optional<int> host_threads) {
  Plan plan;
  plan.model = model_file;
  plan.engine_library = engine_library;
  if (const engine::Engine& engine = engine_of(config); !engine.name.empty()) plan.engine = engine.name;
  plan.batch = std::max(1, config.max_batch_size());
  plan.instances = instances_of(config);
  if (cores > 0) plan.threads = std::max(1, cores / std::max(1, instances_on_cpus(config)));
  if (host_threads) plan.threads = *host_threads;
  plan.device = plan::device_name(device);
  if (plan::is_nvidia(device)) {
    plan.threads = 1;
    RIDGE_TRY(read_accelerators(config, plan));
  } else {
    warn_of_cpu_accelerators(config, plan);
  }
  RIDGE_TRY(read_graph_optimisation(config, plan));
  for (const auto& [key, parameter] : config.parameters())
    RIDGE_TRY(read_parameter(key, parameter.string_value(), plan));
  return plan;
}

}  // namespace ridge::serve

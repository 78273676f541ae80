#include "engine/engines.h"

#include <algorithm>
#include <array>
#include <cassert>

#include <fmt/format.h>

#include "base/nearest.h"
#include "engine/fake_engine.h"
#include "engine/onnxruntime/accelerators.h"
#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/parameters.h"
#include "engine/onnxruntime/session.h"
#include "engine/openvino/library.h"
#include "engine/openvino/parameters.h"
#include "model/reader.h"

namespace ridge::engine {
namespace {

using plan::DeviceKind;

constexpr std::array kOnnxRuntimeDevices = {DeviceKind::kCpu, DeviceKind::kCuda, DeviceKind::kTensorRt};
// ONNX Runtime's CPU provider has no BF16 kernels on x86 and computes FP16 by converting to FP32 and back.
constexpr Ability kOnnxRuntimeAbilities[] = {
    {"fp32"},
    {"int8", Source::kFile},
    {"int8-dynamic", Source::kFile},
    {"int8-weights", Source::kFile},
    {"int4-weights", Source::kFile},
    {"fp32", Source::kGiven, DeviceKind::kCuda},
    {"fp16", Source::kFile, DeviceKind::kCuda},
    {"fp32", Source::kGiven, DeviceKind::kTensorRt},
    {"fp16", Source::kGiven, DeviceKind::kTensorRt, "tensorrt.trt_fp16_enable"},
    {"int8", Source::kFile, DeviceKind::kTensorRt, "tensorrt.trt_int8_enable"},
};

// A graph replays a whole run, which shortens runs of many small kernels; NHWC spares convolutions on tensor cores
// their transposes. The exhaustive search for algorithms of convolutions is the provider's default.
constexpr Switch kOnnxRuntimeSwitches[] = {
    {DeviceKind::kCuda, "cuda.enable_cuda_graph"},
    {DeviceKind::kCuda, "cuda.prefer_nhwc"},
    {DeviceKind::kTensorRt, "tensorrt.trt_cuda_graph_enable"},
};

constexpr std::array kOpenVinoDevices = {DeviceKind::kCpu, DeviceKind::kGpu};
constexpr Ability kOpenVinoAbilities[] = {{"fp32"}, {"bf16"}, {"fp16"}, {"int8", Source::kFile}};

// The fake engine's devices are its script's.
constexpr std::array kEveryDevice = {DeviceKind::kCpu, DeviceKind::kCuda, DeviceKind::kTensorRt, DeviceKind::kGpu};

constexpr Engine kEngines[] = {
    {
        .name = "onnxruntime",
        .label = "ONNX Runtime",
        .devices = kOnnxRuntimeDevices,
        .abilities = kOnnxRuntimeAbilities,
        .open = [](const plan::Plan& plan, Clock&) { return onnxruntime::open_session(plan); },
        .find = onnxruntime::find_library,
        .has_providers = true,
        .writes_graph = true,
        .gives_any_tensor = true,
        .pools_threads = true,
        .own_threads = true,
        .switches = kOnnxRuntimeSwitches,
        .block_base_option = "session.dynamic_block_base",
        .backend = "onnxruntime",
        .platform = "onnxruntime_onnx",
        .parameters = onnxruntime::parameters,
        .read_parameter = onnxruntime::read_parameter,
        .accelerators = onnxruntime::accelerators,
        .read_accelerators = onnxruntime::read_accelerators,
        .is_harmless = onnxruntime::is_harmless,
    },
    {
        .name = "openvino",
        .label = "OpenVINO",
        .devices = kOpenVinoDevices,
        .abilities = kOpenVinoAbilities,
        .open = [](const plan::Plan& plan, Clock&) { return openvino::open_session(plan); },
        .find = openvino::find_library,
        .open_decoder = [](const DecoderPlan& plan, Clock&) { return openvino::open_decoder(plan); },
        .read_model = openvino::read_model,
        .takes_precision = true,
        .backend = "openvino",
        .default_file = "model.xml",
        .parameters = openvino::parameters,
        .read_parameter = openvino::read_parameter,
        .is_harmless = openvino::is_harmless,
        .model_server_text = openvino::model_server_text,
    },
    {
        .name = "fake",
        .label = "the fake engine",
        .devices = kEveryDevice,
        .open = [](const plan::Plan& plan, Clock& clock) -> Result<std::unique_ptr<Session>> {
          RIDGE_ASSIGN(const FakeEngine* engine, fake_engine());
          return engine->open(plan, clock);
        },
        .find = [](const plan::Plan&) -> Result<Info> {
          RIDGE_ASSIGN(const FakeEngine* engine, fake_engine());
          return engine->info();
        },
        .open_decoder = [](const DecoderPlan& plan, Clock& clock) -> Result<std::unique_ptr<Decoder>> {
          RIDGE_ASSIGN(const FakeEngine* engine, fake_engine());
          return engine->open_decoder(plan, clock);
        },
        .for_tests = true,
        .takes_precision = true,
        .pools_threads = true,
        .own_threads = true,
        .switches = kOnnxRuntimeSwitches,
        .script_suffix = ".fake.json",
        .backend = "onnxruntime",  // its meaning while the model was tuned
        .parameters = onnxruntime::parameters,
        .read_parameter = onnxruntime::read_parameter,
        .accelerators = onnxruntime::accelerators,
        .read_accelerators = onnxruntime::read_accelerators,
        .is_harmless = onnxruntime::is_harmless,
    },
};

}  // namespace

std::span<const Engine> known() { return kEngines; }

const Engine& named(std::string_view name) {
  static constexpr Engine kUnknown;
  for (const Engine& row : kEngines)
    if (row.name == name) return row;
  return kUnknown;
}

Status check_name(std::string_view name) {
  if (!named(name).name.empty()) return {};
  std::vector<std::string> names;
  std::string list;
  for (const Engine& row : kEngines)
    if (!row.for_tests) names.emplace_back(row.name);
  for (const std::string& each : names) list += (list.empty() ? "" : each == names.back() ? " and " : ", ") + each;
  const Result<plan::Device> device = plan::device_from_name(name);
  const std::string hint = device ? "; " + std::string(name) + " is a device: --device " + plan::device_name(*device)
                                  : did_you_mean(name, names);
  return Error{Code::kInvalid, "there is no engine '" + std::string(name) + "'; the engines are " + list + hint};
}

Status check_device(const Engine& engine, const plan::Device& device) {
  if (runs_on(engine, device.kind)) return {};
  std::string has;
  for (const DeviceKind kind : engine.devices) has += (has.empty() ? "" : ", ") + plan::device_name({kind, 0});
  const Engine& other = usual_for(device.kind);
  return invalid(fmt::format("{} has no device {}, only such as {}; it is {}'s (--engine {})", engine.label,
                             plan::device_name(device), has, other.label, other.name));
}

const Engine& usual_for(DeviceKind device) {
  for (const Engine& row : kEngines)
    if (!row.for_tests && runs_on(row, device)) return row;
  assert(false && "a device that no engine runs on");
  return kEngines[0];
}

const Engine& first_that(bool Engine::*holds) {
  for (const Engine& row : kEngines)
    if (!row.for_tests && row.*holds) return row;
  assert(false && "a column that holds of no engine");
  return kEngines[0];
}

bool runs_on(const Engine& engine, DeviceKind device) {
  return std::find(engine.devices.begin(), engine.devices.end(), device) != engine.devices.end();
}

const Ability* ability_of(const Engine& engine, std::string_view variant, DeviceKind device) {
  for (const Ability& ability : engine.abilities)
    if (ability.variant == variant && ability.device == device) return &ability;
  return nullptr;
}

}  // namespace ridge::engine

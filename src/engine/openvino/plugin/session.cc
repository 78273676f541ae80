// A Session on OpenVINO's CPU device, or on an Intel GPU (untested: no machine had one), and the library's entry.
//
// Where the plan fixes all input shapes, the model is compiled for these, which is faster; the first run with others
// compiles it once more with dynamic dimensions.
#include <algorithm>
#include <cassert>
#include <map>
#include <memory>
#include <openvino/core/model.hpp>
#include <openvino/core/version.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/runtime/properties.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/openvino/executed.h"
#include "engine/openvino/plugin/decoder.h"
#include "engine/openvino/plugin/executable.h"
#include "engine/openvino/plugin/guarded.h"
#include "engine/openvino/plugin/ir_source.h"
#include "engine/openvino/plugin/model_file.h"
#include "engine/openvino/plugin/profiler.h"
#include "engine/openvino/plugin/properties.h"
#include "engine/openvino/plugin/runtime_graph.h"
#include "engine/openvino/plugin/tensor_type.h"
#include "engine/openvino/plugin_interface.h"

namespace ridge::engine::openvino::plugin {
namespace {

Result<TensorSpec> spec_of(const char* role, std::string name, const ov::element::Type& type,
                           const ov::PartialShape& shape) {
  TensorSpec spec{std::move(name), to_data_type(type), to_shape(shape)};
  if (spec.type != DataType::kInvalid) return spec;
  const std::string where = std::string("the model's ") + role + " '" + spec.name + "' ";
  return Error{Code::kUnsupported,
               where + "is of OpenVINO's type " + type.get_type_name() +
                   ", which ridge cannot pass to it; cast it in the model, or use the engine onnxruntime"};
}

// Before it is given fixed shapes. kUnsupported: a tensor's type is unknown to one side, or is a string.
Result<Signature> read_signature(const ov::Model& model) {
  Signature signature;
  for (const auto& parameter : model.get_parameters()) {
    RIDGE_ASSIGN(TensorSpec spec,
                 spec_of("input", name_of(parameter->output(0).get_names(), parameter->get_friendly_name()),
                         parameter->get_element_type(), parameter->get_partial_shape()));
    signature.inputs.push_back(std::move(spec));
  }
  for (const auto& result : model.get_results()) {
    RIDGE_ASSIGN(TensorSpec spec, spec_of("output", name_of(result->output(0).get_names(), result->get_friendly_name()),
                                          result->get_output_element_type(0), result->get_output_partial_shape(0)));
    signature.outputs.push_back(std::move(spec));
  }
  return signature;
}

// How the file is compiled, the first time and for open dimensions.
struct Recipe {
  ModelFile file;
  std::string device;  // "CPU"
  ov::AnyMap properties;
  Precision precision = Precision::kFp32;
  bool shared = false;  // with the other sessions of the same plan
};

bool on_cpu(const Recipe& recipe) { return recipe.device == "CPU"; }

// Compiles `model` and verifies that it executes as requested.
Result<std::shared_ptr<Executable>> compile(const Recipe& recipe, const std::shared_ptr<ov::Model>& model) {
  return guarded("OpenVINO could not compile " + recipe.file.path(), [&]() -> Result<std::shared_ptr<Executable>> {
    ov::CompiledModel compiled = core().compile_model(model, recipe.device, recipe.properties);
    const std::vector<ExecutedLayer> layers = executed_layers(compiled);
    // For a GPU's layers only their own report is known: the rules are the CPU's kernels'.
    if (on_cpu(recipe)) RIDGE_TRY(verify(recipe.precision, layers));
    return std::make_shared<Executable>(std::move(compiled), precisions_text(layers));
  });
}

// Equal for plans that compile to the same.
std::string key_of(const Recipe& recipe, const std::map<std::string, Shape>& fixed) {
  std::string key = recipe.file.identity() + recipe.device + " ";
  for (const auto& [name, value] : recipe.properties) key += name + "=" + value.as<std::string>() + " ";
  for (const auto& [name, shape] : fixed) key += name + shape_text(shape) + " ";
  return key;
}

class OpenVinoSession final : public Session {
 public:
  OpenVinoSession(Recipe recipe, Signature signature, Info info, std::map<std::string, Shape> fixed,
                  std::shared_ptr<Executable> executable, bool profile)
      : recipe_(std::move(recipe)),
        signature_(std::move(signature)),
        info_(std::move(info)),
        fixed_(std::move(fixed)),
        executable_(std::move(executable)) {
    if (profile) profiler_.emplace();
  }

  const Signature& signature() const override { return signature_; }
  const Info& info() const override { return info_; }
  Status run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<Output> outputs,
             RunTimes* times) override;
  Result<std::vector<NodeTime>> take_profile(int skip_runs) override;
  void terminate() override;
  void resume() override {
    MutexLock lock(running_mutex_);
    terminated_ = false;
  }

 private:
  Status compute(Request& request);
  Result<Executable*> executable_for(std::span<const TensorView> inputs);
  Status place(Request& request, std::span<const TensorView> inputs, std::span<const int> wanted,
               std::span<const Output> outputs) const;

  const Recipe recipe_;
  const Signature signature_;
  const Info info_;
  const std::map<std::string, Shape> fixed_;  // that executable_ is compiled for; empty: dimensions are open
  const std::shared_ptr<Executable> executable_;
  Mutex mutex_;
  std::shared_ptr<Executable> open_ RIDGE_GUARDED_BY(mutex_);  // for other shapes; made once, never changed
  Mutex running_mutex_;
  std::vector<Request*> running_ RIDGE_GUARDED_BY(running_mutex_);
  bool terminated_ RIDGE_GUARDED_BY(running_mutex_) = false;
  std::optional<Profiler> profiler_;  // kept until the profile is taken
};

Status check_tensor(const char* role, const TensorSpec& spec, DataType type, const Shape& shape, size_t bytes) {
  const std::string what = std::string(role) + " '" + spec.name + "' ";
  if (type != spec.type)
    return Error{Code::kInvalid, what + "is " + std::string(data_type_name(type)) + ", the model's is " +
                                     std::string(data_type_name(spec.type))};
  bool fits = shape.size() == spec.shape.size() || spec.shape.empty();
  for (size_t i = 0; fits && i < spec.shape.size(); ++i) fits = spec.shape[i] < 0 || spec.shape[i] == shape[i];
  std::optional<size_t> needed = byte_size(type, shape);
  if (!fits || !needed)
    return Error{Code::kInvalid,
                 what + "has shape " + shape_text(shape) + ", the model's is " + shape_text(spec.shape)};
  if (*needed != bytes)
    return Error{Code::kInvalid, what + "of shape " + shape_text(shape) + " needs " + std::to_string(*needed) +
                                     " bytes, given " + std::to_string(bytes)};
  return {};
}

Status OpenVinoSession::run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<Output> outputs,
                            RunTimes* times) {
  assert(inputs.size() == signature_.inputs.size());
  assert(wanted.size() == outputs.size());
  const TimePoint begin = times ? SteadyClock::now() : TimePoint();
  for (size_t i = 0; i < inputs.size(); ++i)
    RIDGE_TRY(check_tensor("input", signature_.inputs[i], inputs[i].type, inputs[i].shape, inputs[i].data.size()));
  RIDGE_ASSIGN(Executable * executable, executable_for(inputs));
  return guarded("OpenVINO could not run " + recipe_.file.path(), [&]() -> Status {
    std::unique_ptr<Request> request = executable->acquire(inputs.empty() ? nullptr : inputs.front().data.data());
    RIDGE_TRY(place(*request, inputs, wanted, outputs));
    const TimePoint handed_over = times ? SteadyClock::now() : TimePoint();
    RIDGE_TRY(compute(*request));
    const TimePoint computed = times ? SteadyClock::now() : TimePoint();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto index = static_cast<size_t>(wanted[i]);
      RIDGE_TRY(request->take(index, signature_.outputs[index], outputs[i]));
    }
    if (profiler_) profiler_->add(request->profile());
    executable->give_back(std::move(request));
    if (times) *times = {handed_over - begin, computed - handed_over, SteadyClock::now() - computed};
    return {};
  });
}

// Known to terminate() while it runs.
Status OpenVinoSession::compute(Request& request) {
  {
    MutexLock lock(running_mutex_);
    if (terminated_) return Error{Code::kCancelled, "the run was broken off"};
    running_.push_back(&request);
  }
  Status ran = guarded("OpenVINO could not run " + recipe_.file.path(), [&]() -> Status {
    request.run();
    return {};
  });
  MutexLock lock(running_mutex_);
  std::erase(running_, &request);
  if (!ran && terminated_) return Error{Code::kCancelled, "the run was broken off"};
  return ran;
}

void OpenVinoSession::terminate() {
  MutexLock lock(running_mutex_);
  terminated_ = true;
  for (Request* request : running_)
    (void)guarded("cancel", [&]() -> Status {
      request->cancel();
      return {};
    }).ok();
}

Status OpenVinoSession::place(Request& request, std::span<const TensorView> inputs, std::span<const int> wanted,
                              std::span<const Output> outputs) const {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Output& output = outputs[i];
    if (output.data.empty()) continue;
    RIDGE_TRY(check_tensor("output", signature_.outputs[static_cast<size_t>(wanted[i])], output.type, output.shape,
                           output.data.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) request.place_input(i, inputs[i]);
  for (size_t i = 0; i < signature_.outputs.size(); ++i) {
    const auto found = std::find(wanted.begin(), wanted.end(), static_cast<int>(i));
    if (found == wanted.end())
      request.place_nowhere(i);
    else
      request.place_output(i, outputs[static_cast<size_t>(found - wanted.begin())]);
  }
  return {};
}

Result<Executable*> OpenVinoSession::executable_for(std::span<const TensorView> inputs) {
  bool fits = true;
  for (size_t i = 0; fits && !fixed_.empty() && i < inputs.size(); ++i)
    fits = fixed_.at(signature_.inputs[i].name) == inputs[i].shape;
  if (fits) return executable_.get();
  MutexLock lock(mutex_);  // held during compilation: two threads must not both do it
  if (open_ == nullptr) {
    RIDGE_ASSIGN(std::shared_ptr<ov::Model> model, recipe_.file.read());
    RIDGE_ASSIGN(open_, compile(recipe_, model));
  }
  return open_.get();
}

Result<std::vector<NodeTime>> OpenVinoSession::take_profile(int skip_runs) {
  if (!profiler_)
    return Error{Code::kInvalid, "this session has no profile: it was not asked for, or it was taken already"};
  Result<std::vector<NodeTime>> nodes = guarded("OpenVINO's profile could not be read", [&] {
    return profiler_->node_times(described_layers(executable_->model()), skip_runs);
  });
  profiler_.reset();
  return nodes;
}

// Threads of one inference, from the compiled model.
int threads_of(const ov::CompiledModel& model) {
  const int threads = model.get_property(ov::inference_num_threads);
  const int streams = static_cast<int>(static_cast<int32_t>(model.get_property(ov::num_streams)));
  return std::max(1, threads / std::max(1, streams));
}

std::string openvino_version() {
  const std::string build = ov::get_openvino_version().buildNumber;  // "2026.4.1-22982-…"
  return build.substr(0, build.find('-'));
}

Result<std::unique_ptr<Session>> open_in_plugin(const plan::Plan& plan, const std::string& library) {
  RIDGE_ASSIGN(std::string device, device_of(plan.device));
  RIDGE_ASSIGN(ov::AnyMap properties, properties_of(plan));
  RIDGE_ASSIGN(ModelFile file, ModelFile::open(plan.model));
  Recipe recipe{std::move(file), std::move(device), std::move(properties), plan.precision, shares(plan)};
  // The engine would compile for a precision that the CPU lacks, or fail without a reason.
  if (on_cpu(recipe)) RIDGE_TRY(verify_possible(plan.precision, instruction_sets()));

  const TimePoint begin = SteadyClock::now();
  RIDGE_ASSIGN(std::shared_ptr<ov::Model> model, recipe.file.read());
  Result<Signature> signature = read_signature(*model);
  if (!signature) return wrap(signature.error(), plan.model);
  std::map<std::string, Shape> fixed = fixed_shapes(*model, plan.shapes);
  RIDGE_TRY(fix_shapes(*model, fixed));
  Info info{"openvino", openvino_version(), library, plan.device, Nanoseconds(0), 1};
  // It compiles new kernels: 35 to 65 ms for each number above 2 of resnet50's rows, measured on two CPUs.
  info.prepares_for_rows = true;
  auto make = [&] { return compile(recipe, model); };
  RIDGE_ASSIGN(std::shared_ptr<Executable> executable,
               recipe.shared ? shared_executable(key_of(recipe, fixed), make) : make());
  info.executed = executable->executed();
  info.load_time = SteadyClock::now() - begin;
  if (on_cpu(recipe)) info.threads = threads_of(executable->model());
  return std::unique_ptr<Session>(std::make_unique<OpenVinoSession>(std::move(recipe), std::move(*signature),
                                                                    std::move(info), std::move(fixed),
                                                                    std::move(executable), plan.profile));
}

Result<std::unique_ptr<Session>> open(const plan::Plan& plan, const std::string& library) {
  return guarded("OpenVINO could not open " + plan.model, [&] { return open_in_plugin(plan, library); });
}

}  // namespace
}  // namespace ridge::engine::openvino::plugin

extern "C" __attribute__((visibility("default"))) const ridge::engine::openvino::Plugin* ridge_openvino_plugin() {
  using namespace ridge::engine::openvino;
  using namespace ridge::engine::openvino::plugin;
  static const std::string built = ridge::engine::build_id();
  static const Plugin plugin{built.c_str(), open, open_decoder, open_ir, openvino_version};
  return &plugin;
}

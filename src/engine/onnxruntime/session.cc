#include "engine/onnxruntime/session.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "engine/onnxruntime/element_type.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/profile.h"
#include "engine/onnxruntime/session_options.h"
#include "engine/onnxruntime/signature.h"
#include "engine/onnxruntime/string_tensor.h"

namespace ridge::engine::onnxruntime {
namespace {

namespace fs = std::filesystem;

// The OrtValues of one run; released when it ends.
class Values {
 public:
  explicit Values(const OrtApi& api) : api_(api) {}
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() {
    for (OrtValue* value : raw_)
      if (value != nullptr) api_.ReleaseValue(value);
  }
  void reserve(size_t count) { raw_.reserve(count); }
  OrtValue*& add() { return raw_.emplace_back(nullptr); }
  OrtValue** data() { return raw_.data(); }
  OrtValue*& operator[](size_t i) { return raw_[i]; }
  size_t size() const { return raw_.size(); }

 private:
  const OrtApi& api_;
  std::vector<OrtValue*> raw_;
};

class OnnxRuntimeSession final : public Session {
 public:
  OnnxRuntimeSession(const Library& library, SessionHandle session, Signature signature, Info info,
                     std::optional<TemporaryFolder> profile)
      : library_(library),
        api_(*library.api),
        session_(std::move(session)),
        signature_(std::move(signature)),
        info_(std::move(info)),
        profile_(std::move(profile)) {}

  const Signature& signature() const override { return signature_; }
  const Info& info() const override { return info_; }
  Status run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<Output> outputs,
             RunTimes* times) override;
  Result<std::vector<NodeTime>> take_profile(int skip_runs) override;

 private:
  Status add_input(const TensorSpec& spec, const TensorView& tensor, OrtValue*& value) const;
  Status add_output(const TensorSpec& spec, const Output& output, OrtValue*& value) const;
  Status take_output(OrtValue*& value, Output& output) const;
  Status place(const TensorSpec& spec, DataType type, const Shape& shape, std::span<const std::byte> data,
               OrtValue*& value) const;

  const Library& library_;
  const OrtApi& api_;
  SessionHandle session_;
  const Signature signature_;
  const Info info_;
  std::optional<TemporaryFolder> profile_;  // there until the profile is taken
};

Status OnnxRuntimeSession::run(std::span<const TensorView> inputs, std::span<const int> wanted,
                               std::span<Output> outputs, RunTimes* times) {
  assert(inputs.size() == signature_.inputs.size() ||
         inputs.size() == signature_.inputs.size() + signature_.optional_inputs.size());
  assert(wanted.size() == outputs.size());
  const TimePoint begin = times ? Clock::now() : TimePoint();
  Values in(api_), out(api_);
  std::vector<const char*> in_names, out_names;
  in.reserve(inputs.size());
  in_names.reserve(inputs.size());
  out.reserve(wanted.size());
  out_names.reserve(wanted.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type == DataType::kInvalid) continue;
    const size_t needed = signature_.inputs.size();
    const TensorSpec& spec = i < needed ? signature_.inputs[i] : signature_.optional_inputs[i - needed];
    in_names.push_back(spec.name.c_str());
    RIDGE_TRY(add_input(spec, inputs[i], in.add()));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const TensorSpec& spec = signature_.outputs[static_cast<size_t>(wanted[i])];
    out_names.push_back(spec.name.c_str());
    RIDGE_TRY(add_output(spec, outputs[i], out.add()));
  }
  const TimePoint handed_over = times ? Clock::now() : TimePoint();
  RIDGE_TRY(take(api_, api_.Run(session_.get(), nullptr, in_names.data(), in.data(), in.size(), out_names.data(),
                                out_names.size(), out.data())));
  const TimePoint computed = times ? Clock::now() : TimePoint();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (outputs[i].data.empty()) RIDGE_TRY(take_output(out[i], outputs[i]));
  if (times) *times = {handed_over - begin, computed - handed_over, Clock::now() - computed};
  return {};
}

Status OnnxRuntimeSession::add_input(const TensorSpec& spec, const TensorView& tensor, OrtValue*& value) const {
  if (tensor.type == DataType::kBytes && spec.type == DataType::kBytes) {
    Result<ValueHandle> strings = string_tensor_from_wire(library_, tensor);
    if (!strings) return wrap(strings.error(), "input '" + spec.name + "'");
    value = strings->release();
    return {};
  }
  return place(spec, tensor.type, tensor.shape, tensor.data, value);
}

Status OnnxRuntimeSession::add_output(const TensorSpec& spec, const Output& output, OrtValue*& value) const {
  if (output.data.empty()) return {};  // the engine allocates
  if (spec.type == DataType::kBytes)
    return Error{Code::kUnsupported, "output '" + spec.name +
                                         "' holds strings: its size is not known before the run, so it " +
                                         "cannot be written into given memory"};
  return place(spec, output.type, output.shape, output.data, value);
}

// A tensor over memory that is not ours.
Status OnnxRuntimeSession::place(const TensorSpec& spec, DataType type, const Shape& shape,
                                 std::span<const std::byte> data, OrtValue*& value) const {
  if (type != spec.type)
    return Error{Code::kInvalid, "tensor '" + spec.name + "' is " + std::string(data_type_name(type)) +
                                     ", the model's is " + std::string(data_type_name(spec.type))};
  std::optional<size_t> bytes = byte_size(type, shape);
  if (!bytes || *bytes != data.size())
    return Error{Code::kInvalid, "tensor '" + spec.name + "' of shape " + shape_text(shape) + " needs " +
                                     (bytes ? std::to_string(*bytes) : "an unknown number of") + " bytes, given " +
                                     std::to_string(data.size())};
  // ONNX Runtime only reads inputs; its API has no const. A tensor without elements still needs an address.
  static std::byte nowhere[64];
  void* memory = data.empty() ? nowhere : const_cast<std::byte*>(data.data());
  return take(api_, api_.CreateTensorWithDataAsOrtValue(library_.cpu_memory, memory, data.size(), shape.data(),
                                                        shape.size(), to_element_type(type), &value));
}

Status OnnxRuntimeSession::take_output(OrtValue*& value, Output& output) const {
  TensorInfoHandle info(api_);
  RIDGE_TRY(take(api_, api_.GetTensorTypeAndShape(value, info.out())));
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0;
  RIDGE_TRY(take(api_, api_.GetTensorElementType(info.get(), &type)));
  RIDGE_TRY(take(api_, api_.GetDimensionsCount(info.get(), &rank)));
  output.type = to_data_type(type);
  output.shape.resize(rank);
  RIDGE_TRY(take(api_, api_.GetDimensions(info.get(), output.shape.data(), rank)));
  if (output.type == DataType::kBytes) {
    RIDGE_ASSIGN(Buffer wire, string_tensor_to_wire(library_, value, element_count(output.shape).value_or(0)));
    auto owner = std::make_shared<Buffer>(std::move(wire));
    output.data = owner->span();
    output.owner = std::move(owner);
    return {};
  }
  void* data = nullptr;
  RIDGE_TRY(take(api_, api_.GetTensorMutableData(value, &data)));
  output.data = {static_cast<std::byte*>(data), byte_size(output.type, output.shape).value_or(0)};
  output.owner = std::shared_ptr<const OrtValue>(std::exchange(value, nullptr), [api = &api_](const OrtValue* held) {
    api->ReleaseValue(const_cast<OrtValue*>(held));
  });
  return {};
}

Result<std::vector<NodeTime>> OnnxRuntimeSession::take_profile(int skip_runs) {
  if (!profile_)
    return Error{Code::kInvalid, "this session has no profile: it was not asked for, or it was taken already"};
  TemporaryFolder folder = std::move(*profile_);
  profile_.reset();
  char* raw_path = nullptr;
  RIDGE_TRY(take(api_, api_.SessionEndProfiling(session_.get(), library_.allocator, &raw_path)));
  std::string path = raw_path;
  RIDGE_TRY(take(api_, api_.AllocatorFree(library_.allocator, raw_path)));
  RIDGE_ASSIGN(std::string text, read_file(path));
  return parse_profile(text, skip_runs);
}

int threads_of_this_process() {
  std::error_code error;
  return static_cast<int>(std::distance(fs::directory_iterator("/proc/self/task", error), fs::directory_iterator()));
}

std::string what_to_do(const Error& error) {
  if (error.message.find("opset") != std::string::npos) return "A newer ONNX Runtime may know this opset.";
  switch (error.code) {
    case Code::kNotFound: return "Check the path, and that its external data lies beside it.";
    case Code::kInvalid: return "The file is damaged, incomplete or not an ONNX model; export it again.";
    case Code::kUnsupported:
      return "The CPU has no kernel for this operator and type; export the model in FP32 or with other operators.";
    case Code::kExhausted: return "There is not enough memory; use fewer instances or a smaller model.";
    default: return "See the message above; RIDGE_LOG=debug shows what the engine did.";
  }
}

Status check_device(const Library& library, const plan::Plan& plan) {
  if (plan.device == "cpu") return {};
  std::string has;
  for (const std::string& provider : library.providers) has += (has.empty() ? "" : ", ") + provider;
  return Error{Code::kUnsupported,
               "device '" + plan.device + "' is not supported, only cpu is (" + library.path + " has " + has + ")"};
}

}  // namespace

Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan) {
  RIDGE_ASSIGN(const Library* library, load(plan.engine_library));
  RIDGE_TRY(check_device(*library, plan));
  std::optional<TemporaryFolder> profile;
  if (plan.profile) {
    RIDGE_ASSIGN(profile, TemporaryFolder::make());
  }
  RIDGE_ASSIGN(SessionOptionsHandle options, session_options(*library, plan, profile ? profile->path() + "/run" : ""));

  const OrtApi& api = *library->api;
  const int threads_before = threads_of_this_process();
  const TimePoint begin = Clock::now();
  SessionHandle session(api);
  Status made = take(api, api.CreateSession(library->env, plan.model.c_str(), options.get(), session.out()));
  if (!made)
    return Error{made.error().code, "ONNX Runtime " + library->version + " could not load " + plan.model + ": " +
                                        made.error().message + "\n" + what_to_do(made.error())};
  const Nanoseconds load_time = Clock::now() - begin;
  const int threads_started = threads_of_this_process() - threads_before;
  const int threads_between = plan.inter_op_threads > 1 ? plan.inter_op_threads - 1 : 0;

  Result<Signature> signature = read_signature(*library, session.get());
  if (!signature) return wrap(signature.error(), plan.model);
  Info info{"onnxruntime", library->version,
            library->path, "cpu",
            load_time,     plan.threads > 0 ? plan.threads : std::max(1, 1 + threads_started - threads_between)};
  return std::unique_ptr<Session>(std::make_unique<OnnxRuntimeSession>(
      *library, std::move(session), std::move(*signature), std::move(info), std::move(profile)));
}

}  // namespace ridge::engine::onnxruntime

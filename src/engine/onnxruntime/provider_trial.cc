#include "engine/onnxruntime/provider_trial.h"

#include <onnxruntime_session_options_config_keys.h>

#include <cstring>
#include <vector>

#include "engine/onnxruntime/element_type.h"
#include "engine/onnxruntime/environment.h"
#include "engine/onnxruntime/gpu_provider.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/placement.h"
#include "engine/onnxruntime/session_options.h"
#include "engine/onnxruntime/signature.h"

namespace ridge::engine::onnxruntime {
namespace {

constexpr std::string_view kProviderSuffix = "ExecutionProvider";

// A provider with its own options: created, handed over, released.
template <typename Options>
Status append_with_options(const OrtApi& api, OrtSessionOptions* session, OrtStatus*(ORT_API_CALL* create)(Options**),
                           OrtStatus*(ORT_API_CALL* append)(OrtSessionOptions*, const Options*),
                           void(ORT_API_CALL* release)(Options*)) {
  Options* options = nullptr;
  RIDGE_TRY(take(api, create(&options)));
  Status appended = take(api, append(session, options));
  release(options);
  return appended;
}

// Older providers have dedicated functions, newer ones are known by name.
Status append(const Library& library, OrtSessionOptions* options, const EngineOptions& engine,
              const std::string& provider) {
  const OrtApi& api = *library.api;
  for (const plan::DeviceKind kind : {plan::DeviceKind::kCuda, plan::DeviceKind::kTensorRt})
    if (provider == provider_name(provider_of(kind))) return append_gpu(library, options, {kind, 0}, engine, nullptr);
  if (provider == "ROCMExecutionProvider")
    return append_with_options(api, options, api.CreateROCMProviderOptions,
                               api.SessionOptionsAppendExecutionProvider_ROCM, api.ReleaseROCMProviderOptions);
  if (provider == "DnnlExecutionProvider")
    return append_with_options(api, options, api.CreateDnnlProviderOptions,
                               api.SessionOptionsAppendExecutionProvider_Dnnl, api.ReleaseDnnlProviderOptions);
  if (provider == "MIGraphXExecutionProvider") {
    OrtMIGraphXProviderOptions migraphx{};
    return take(api, api.SessionOptionsAppendExecutionProvider_MIGraphX(options, &migraphx));
  }
  std::string name = provider;
  if (name.ends_with(kProviderSuffix)) name.erase(name.size() - kProviderSuffix.size());
  return take(api, api.SessionOptionsAppendExecutionProvider(options, name.c_str(), nullptr, nullptr, 0));
}

Status run_zeros(const Library& library, OrtSession* session) {
  const OrtApi& api = *library.api;
  RIDGE_ASSIGN(Signature signature, read_signature(library, session));
  std::vector<const char*> in_names, out_names;
  std::vector<ValueHandle> in, out;
  std::vector<const OrtValue*> in_values;
  for (const TensorSpec& spec : signature.inputs) {
    std::optional<size_t> size = byte_size(spec.type, spec.shape);
    if (!size) return Error{Code::kUnsupported, "input '" + spec.name + "' has no fixed size"};
    ValueHandle& value = in.emplace_back(api);
    RIDGE_TRY(take(api, api.CreateTensorAsOrtValue(library.allocator, spec.shape.data(), spec.shape.size(),
                                                   to_element_type(spec.type), value.out())));
    void* data = nullptr;
    RIDGE_TRY(take(api, api.GetTensorMutableData(value.get(), &data)));
    std::memset(data, 0, *size);
    in_names.push_back(spec.name.c_str());
    in_values.push_back(value.get());
  }
  std::vector<OrtValue*> results(signature.outputs.size());
  for (const TensorSpec& spec : signature.outputs) out_names.push_back(spec.name.c_str());
  Status ran = take(api, api.Run(session, nullptr, in_names.data(), in_values.data(), in_values.size(),
                                 out_names.data(), out_names.size(), results.data()));
  for (OrtValue* result : results) out.emplace_back(api, result);
  return ran;
}

}  // namespace

Status try_provider(const Library& library, const plan::Plan& plan, const std::string& provider) {
  if (provider == "AzureExecutionProvider")
    return Error{Code::kUnsupported, "it calls a remote service and computes nothing here"};
  const OrtApi& api = *library.api;
  RIDGE_ASSIGN(EngineOptions engine, engine_options(plan));
  RIDGE_ASSIGN(OrtEnv * env, environment(library, engine.shared));
  RIDGE_ASSIGN(SessionOptionsHandle options, session_options(library, plan, engine, ""));
  if (provider != "CPUExecutionProvider") {
    RIDGE_TRY(append(library, options.get(), engine, provider));
    RIDGE_TRY(take(api, api.AddSessionConfigEntry(options.get(), kOrtSessionOptionsDisableCPUEPFallback, "1")));
  }
  RIDGE_TRY(take(api, api.SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_VERBOSE)));
  SessionHandle session(api);
  PlacementListener listener;
  RIDGE_TRY(take(api, api.CreateSession(env, plan.model.c_str(), options.get(), session.out())));
  // TensorRT also needs the CUDA provider, for the rest of the nodes.
  if (!may_compute(listener.placement(), provider))
    return Error{Code::kFailed, "it computes nothing: " + placement_text(listener.placement(), provider)};
  return run_zeros(library, session.get());
}

}  // namespace ridge::engine::onnxruntime
